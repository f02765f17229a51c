"""The system calls of a child: a list of those that engines need. All others fail.

Landlock does not restrict UDP, MPTCP, TCP Fast Open, Unix sockets with a path, datagrams of socket pairs,
flags and modes of files, locks, queues, files of memory, limits and priorities, or keyrings. The list was
measured with the engines of this package (Python, Java, AppWorld, ALFWorld's planner); docs/security.md names
what it leaves.
The child imports this module, so it needs only the standard library.
"""

import errno
import socket
from typing import Literal

from coevolve_environments.processes.call_numbers import knows_machine, numbers_of
from coevolve_environments.processes.seccomp import (
    Rules,
    allow_calls,
    allow_values,
    deny_bits,
    deny_values,
    fail,
    load_filter,
    on_calls,
    require_bits,
    require_null,
    require_value,
    succeed,
    when_value,
)

Sockets = Literal["none", "tcp"]

_FILES = """
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 open openat creat close close_range
lseek dup dup2 dup3 pipe pipe2 stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2
readlink readlinkat getdents getdents64 getcwd chdir fchdir umask rename renameat renameat2 mkdir mkdirat
rmdir unlink unlinkat link linkat symlink symlinkat mknod mknodat truncate ftruncate fallocate fsync
fdatasync sync_file_range fadvise64 readahead sendfile copy_file_range
"""
_EVENTS = """
poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd
eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime
"""
_MEMORY = "brk munmap mprotect mremap madvise msync membarrier"
_PROCESSES = """
exit exit_group futex set_robust_list rseq set_tid_address sched_yield sched_getaffinity sched_getparam
sched_getscheduler sched_get_priority_max sched_get_priority_min getpriority getcpu wait4 waitid pidfd_open
kill tkill tgkill setpgid setsid getpid getppid gettid getpgid getpgrp getsid getuid geteuid getgid getegid
getresuid getresgid getgroups capget getrlimit setrlimit getrusage times sysinfo uname
"""
_SIGNALS = """
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_sigpending sigaltstack
restart_syscall pause alarm setitimer getitimer
"""
_TIME = "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time getrandom"
_CONNECTED_SOCKETS = "recvfrom recvmsg getsockname getpeername getsockopt shutdown"
_FURTHER_WALLS = "landlock_create_ruleset landlock_add_rule landlock_restrict_self"
_NEW_PROCESSES = "fork vfork execve"
_ATTRIBUTES = "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat"
_EXTENDED_ATTRIBUTES = """
setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr
lremovexattr fremovexattr
"""
_TIMES = "utime utimes utimensat futimesat"
_ALWAYS = " ".join(
    (_FILES, _EVENTS, _MEMORY, _PROCESSES, _SIGNALS, _TIME, _CONNECTED_SOCKETS, _FURTHER_WALLS)
)

_TERMINAL = (0x5401, 0x5413)  # TCGETS, TIOCGWINSZ: whether a file is a terminal
_DESCRIPTOR = (0x541B, 0x5421, 0x5450, 0x5451)  # FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
_FILE_COMMANDS = (*range(8), 36, 37, 38, 1030, 1032)
"""F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK,
F_OFD_SETLKW, F_DUPFD_CLOEXEC, F_GETPIPE_SZ. Not leases, signals of descriptors, notifications of folders."""
_PROCESS_OPTIONS = (1, 2, 3, 4, 15, 16, 21, 22, 23, 36, 37, 38, 39)
"""PR_[SG]ET_PDEATHSIG, _DUMPABLE, _NAME, PR_GET_SECCOMP, PR_SET_SECCOMP, PR_CAPBSET_READ, _CHILD_SUBREAPER,
_NO_NEW_PRIVS."""
_THREAD_AREAS = (0x1001, 0x1002, 0x1003, 0x1004)  # ARCH_SET_GS, ARCH_SET_FS, ARCH_GET_FS, ARCH_GET_GS

_MAP_SHARED, _MAP_SHARED_VALIDATE, _MAP_TYPE, _MAP_ANONYMOUS = 0x1, 0x3, 0xF, 0x20
_CLONE_THREAD = 0x10000
_CLONE_NAMESPACES = 0x7E020000
_FAST_OPEN = 0x20000000  # MSG_FASTOPEN: a send that connects, which Landlock does not check
_SOCKET_TYPE = 0xF
_TCP_OPTIONS = {
    socket.SOL_SOCKET: (2, 7, 8, 9, 13, 20, 21),  # REUSEADDR, SNDBUF, RCVBUF, KEEPALIVE, LINGER, [RS]CVTIMEO
    socket.IPPROTO_IP: (1,),  # TOS
    socket.IPPROTO_TCP: (1, 4, 5, 6),  # NODELAY, KEEPIDLE, KEEPINTVL, KEEPCNT
    socket.IPPROTO_IPV6: (26, 67),  # V6ONLY, TCLASS
}


def can_filter() -> bool:
    """Returns whether the numbers of the machine's system calls are known."""
    return knows_machine()


def restrict_calls(sockets: Sockets, *, owns_files: bool, processes: bool = True) -> None:
    """Restricts this process and its descendants to the calls that engines need.

    Args:
        sockets: new ones that it may make; pairs of connected streams are always possible.
        owns_files: the process's user owns files outside its home: changes of modes, owners and times of
            files report success and do nothing, because libraries make them.
        processes: whether it may start other processes, or only threads.

    Raises:
        OSError: the kernel refused the filter.
    """
    rules = _on("mmap", _private_memory())  # first: frequent, and no other rule can be remembered for it
    rules += allow_calls(numbers_of(_ALWAYS))
    rules += _on("ioctl", allow_values(1, (*_TERMINAL, *_DESCRIPTOR), errno.ENOTTY))
    rules += _on("fcntl", allow_values(1, _FILE_COMMANDS, errno.EINVAL))
    rules += _on("prctl", allow_values(0, _PROCESS_OPTIONS, errno.EINVAL))
    rules += _on("arch_prctl", allow_values(0, _THREAD_AREAS, errno.EINVAL))
    rules += _on("prlimit64", allow_values(0, (0,), errno.EPERM))  # 0 is the process itself
    rules += _processes() if processes else _on("clone", require_bits(0, _CLONE_THREAD, errno.EPERM))
    rules += _tcp() if sockets == "tcp" else _no_sockets()
    rules += _on("socketpair", _pairs_of_streams())
    rules += _on(_EXTENDED_ATTRIBUTES, [fail(errno.EOPNOTSUPP)])
    rules += _on(f"{_ATTRIBUTES} {_TIMES}", [fail(0) if owns_files else succeed()])
    load_filter(rules)


def _private_memory() -> Rules:
    """Shared memory without a file is a file of memory, which counts for no process once it is unmapped."""
    shared = (_MAP_ANONYMOUS | _MAP_SHARED, _MAP_ANONYMOUS | _MAP_SHARED_VALIDATE)
    return deny_values(3, shared, errno.EPERM, _MAP_ANONYMOUS | _MAP_TYPE)


def _processes() -> Rules:
    """Not clone3, whose flags a filter cannot read: libraries then use clone."""
    return allow_calls(numbers_of(_NEW_PROCESSES)) + _on(
        "clone", deny_bits(0, _CLONE_NAMESPACES, errno.EPERM)
    )


def _no_sockets() -> Rules:
    rules = _on("socket connect bind listen accept accept4", [fail(errno.EACCES)])
    rules += _on("sendto", require_null(4, errno.EACCES))
    return rules + _on("sendmsg", [succeed()])


def _tcp() -> Rules:
    streams = [
        *require_value(0, (socket.AF_INET, socket.AF_INET6), errno.EACCES),
        *require_value(1, (socket.SOCK_STREAM,), errno.EACCES, _SOCKET_TYPE),
        *allow_values(2, (0, socket.IPPROTO_TCP), errno.EACCES),  # Landlock restricts neither MPTCP nor SCTP
    ]
    rules = _on("socket", streams) + _on("connect bind listen accept accept4", [succeed()])
    rules += _on("sendto", deny_bits(3, _FAST_OPEN, errno.EPERM))
    rules += _on("sendmsg", deny_bits(2, _FAST_OPEN, errno.EPERM))
    return rules + _on("setsockopt", _tcp_options())


def _tcp_options() -> Rules:
    rules: Rules = []
    for level, options in _TCP_OPTIONS.items():
        rules += when_value(1, level, allow_values(2, options, errno.ENOPROTOOPT))
    return [*rules, fail(errno.ENOPROTOOPT)]


def _pairs_of_streams() -> Rules:
    """Not of datagrams, which can be sent to any socket with a path."""
    kinds = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)
    family = require_value(0, (socket.AF_UNIX,), errno.EACCES)
    return [*family, *allow_values(1, kinds, errno.EACCES, _SOCKET_TYPE)]


def _on(names: str, rules: Rules) -> Rules:
    return on_calls(numbers_of(names), rules)
