"""Exit codes, the same for every command that runs something."""

DONE = 0
FAILED = 1  #: it ran, and failed, or its answer is wrong
REFUSED = 2  #: the command line or a file is wrong; nothing was started
INTERRUPTED = 130  #: stopped by Ctrl-C; what was committed stays, the same command goes on
TERMINATED = 143  #: the same by SIGTERM

TOLD = (
    "Exit codes: 0 done; 1 it failed while running, or the answer is wrong; 2 the command line or the job file is "
    "wrong, and nothing was started; 130 stopped by Ctrl-C, 143 by SIGTERM: the same command goes on from there."
)
