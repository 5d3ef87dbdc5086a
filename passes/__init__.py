"""The passes, in pipeline order."""

if __name__ != "schedgen.passes":
    raise ImportError(f"import this package as schedgen.passes, not {__name__}")
