"""``python -m schedgen``."""

from schedgen.cli import main

main()
