"""torchrun that knows EDL's store: `python3 -m edl.torchrun --rdzv_backend=edl ...`.

The rest of the line is torchrun's own.
"""

from __future__ import annotations


def main() -> None:
    from torch.distributed import run

    from edl import rendezvous

    rendezvous.register()
    run.main()


if __name__ == "__main__":
    main()
