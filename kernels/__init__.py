"""The kernels, from the serial one up."""

if __name__ != "schedgen.kernels":
    raise ImportError(f"import this package as schedgen.kernels, not {__name__}")
