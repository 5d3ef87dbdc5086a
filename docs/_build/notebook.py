"""A notebook as a page: `notebook_markdown` writes its cells and their outputs as Markdown.

The notebook is committed without outputs; `executed` fills them in, in a fresh kernel.
"""

from __future__ import annotations

import json
import sys
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

Notebook = Any


def executed(path: Path) -> Notebook:
    """The notebook of a file with its outputs, run in an empty folder by this Python.

    Raises `nbclient.exceptions.CellExecutionError` for a cell that fails.
    """
    import nbformat
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory(prefix="schedgen-") as folder:
        spec = Path(folder, "kernels", "python3", "kernel.json")
        spec.parent.mkdir(parents=True)
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec.write_text(json.dumps({"argv": command, "display_name": "Python 3",
                                    "language": "python"}))  # fmt: skip
        specs = KernelSpecManager(kernel_dirs=[str(spec.parents[1])], ensure_native_kernel=False)
        # Sockets in the folder: ports of TCP could be taken by another kernel before this one is up.
        manager = AsyncKernelManager(
            kernel_name="python3", kernel_spec_manager=specs, transport="ipc", ip=f"{folder}/socket"
        )
        work = Path(folder, "work")
        work.mkdir()
        client = NotebookClient(
            notebook, km=manager, timeout=120, resources={"metadata": {"path": str(work)}}
        )
        return client.execute()


def notebook_markdown(notebook: Notebook) -> str:
    """The page: cells of text as they are, code fenced, outputs as blocks of HTML."""
    parts: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts.append(f"```python\n{cell.source}\n```")
            parts += [_output(output) for output in cell.outputs]
    return "\n\n".join(parts) + "\n"


def _output(output: Any) -> str:
    """HTML where there is some, else the plain text; no line is empty: that would end the block."""
    if output.output_type == "stream":
        return _plain(output.text)
    html = output.data.get("text/html")
    return f'<div class="output">{_full(html)}</div>' if html else _plain(output.data["text/plain"])


def _plain(text: str) -> str:
    return f'<div class="output"><pre>{_full(escape(text.rstrip()))}</pre></div>'


def _full(html: str) -> str:
    while "\n\n" in html:
        html = html.replace("\n\n", "\n&#10;")
    return html.strip()


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(notebook_markdown(executed(Path(sys.argv[1]))), encoding="utf-8")
