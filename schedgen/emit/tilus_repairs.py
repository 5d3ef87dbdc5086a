"""What tilus 0.2.0 needs before it compiles a Hopper kernel.

The emitter copies the functions of `REPAIRS` to the top of every emitted file, with their
docstrings: an emitted file needs nothing of schedgen.  So a function here uses tilus alone, imports
it inside its body, and edits no installed file.
"""


def use_hopper_tma_loads():
    """Make tilus 0.2.0 emit TMA loads that sm_90a understands.

    It always writes `.cta_group::1`, a Blackwell qualifier that ptxas rejects on Hopper.  The two
    functions that print the load are replaced by ones that leave it out below compute capability
    10.0.  Of the emitters, only this module may be imported here: importing them all registers one
    of them twice.
    """
    from tilus.backends.emitters.cuda import cp_async_tensor
    from tilus.target import get_current_target

    def repaired(print_load):
        def print_load_for_target(*args, cta_group=None, **kwargs):
            if get_current_target().properties.compute_capability < (10, 0):
                cta_group = None
            return print_load(*args, cta_group=cta_group, **kwargs)

        return print_load_for_target

    for name in (
        "cp_async_tensor_global_to_shared",
        "cp_async_tensor_global_to_cluster_shared",
    ):
        print_load = getattr(cp_async_tensor, name)
        if print_load.__name__ == name:  # not repaired yet
            setattr(cp_async_tensor, name, repaired(print_load))


REPAIRS = (use_hopper_tma_loads,)
