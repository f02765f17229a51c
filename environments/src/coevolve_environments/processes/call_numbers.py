"""Numbers of the system calls that the wall names, on each architecture that it supports.

From asm/unistd_64.h (x86_64) and asm-generic/unistd.h (aarch64) of Linux 6.1. Numbers from 424 on are
equal on both.
"""

import platform

_COLUMNS = {"x86_64": 1, "aarch64": 2}
_TABLE = """
accept4:288:242 accept:43:202 access:21:- alarm:37:- arch_prctl:158:- bind:49:200 brk:12:214 capget:125:90
chdir:80:49 chmod:90:- chown:92:- clock_getres:229:114 clock_gettime:228:113 clock_nanosleep:230:115
clone3:435:435 clone:56:220 close:3:57 close_range:436:436 connect:42:203 copy_file_range:326:285 creat:85:-
dup2:33:- dup3:292:24 dup:32:23 epoll_create1:291:20 epoll_create:213:- epoll_ctl:233:21
epoll_pwait2:441:441 epoll_pwait:281:22 epoll_wait:232:- eventfd2:290:19 eventfd:284:- execve:59:221
exit:60:93 exit_group:231:94 faccessat2:439:439 faccessat:269:48 fadvise64:221:223 fallocate:285:47
fchdir:81:50 fchmod:91:52 fchmodat2:452:452 fchmodat:268:53 fchown:93:55 fchownat:260:54 fcntl:72:25
fdatasync:75:83 fgetxattr:193:10 flistxattr:196:13 fork:57:- fremovexattr:199:16 fsetxattr:190:7 fstat:5:80
fstatfs:138:44 fsync:74:82 ftruncate:77:46 futex:202:98 futimesat:261:- getcpu:309:168 getcwd:79:17
getdents64:217:61 getdents:78:- getegid:108:177 geteuid:107:175 getgid:104:176 getgroups:115:158
getitimer:36:102 getpeername:52:205 getpgid:121:155 getpgrp:111:- getpid:39:172 getppid:110:173
getpriority:140:141 getrandom:318:278 getresgid:120:150 getresuid:118:148 getrlimit:97:163 getrusage:98:165
getsid:124:156 getsockname:51:204 getsockopt:55:209 gettid:186:178 gettimeofday:96:169 getuid:102:174
getxattr:191:8 ioctl:16:29 kill:62:129 landlock_add_rule:445:445 landlock_create_ruleset:444:444
landlock_restrict_self:446:446 lchown:94:- lgetxattr:192:9 link:86:- linkat:265:37 listen:50:201
listxattr:194:11 llistxattr:195:12 lremovexattr:198:15 lseek:8:62 lsetxattr:189:6 lstat:6:- madvise:28:233
membarrier:324:283 mkdir:83:- mkdirat:258:34 mknod:133:- mknodat:259:33 mmap:9:222 mprotect:10:226
mremap:25:216 msync:26:227 munmap:11:215 nanosleep:35:101 newfstatat:262:79 open:2:- openat:257:56
pause:34:- pidfd_open:434:434 pipe2:293:59 pipe:22:- poll:7:- ppoll:271:73 prctl:157:167 pread64:17:67
preadv2:327:286 preadv:295:69 prlimit64:302:261 pselect6:270:72 pwrite64:18:68 pwritev2:328:287
pwritev:296:70 read:0:63 readahead:187:213 readlink:89:- readlinkat:267:78 readv:19:65 recvfrom:45:207
recvmsg:47:212 removexattr:197:14 rename:82:- renameat2:316:276 renameat:264:38 restart_syscall:219:128
rmdir:84:- rseq:334:293 rt_sigaction:13:134 rt_sigpending:127:136 rt_sigprocmask:14:135 rt_sigreturn:15:139
rt_sigsuspend:130:133 rt_sigtimedwait:128:137 sched_get_priority_max:146:125 sched_get_priority_min:147:126
sched_getaffinity:204:123 sched_getparam:143:121 sched_getscheduler:145:120 sched_yield:24:124 select:23:-
sendfile:40:71 sendmsg:46:211 sendto:44:206 set_robust_list:273:99 set_tid_address:218:96 setitimer:38:103
setpgid:109:154 setrlimit:160:164 setsid:112:157 setsockopt:54:208 setxattr:188:5 shutdown:48:210
sigaltstack:131:132 signalfd4:289:74 signalfd:282:- socket:41:198 socketpair:53:199 stat:4:- statfs:137:43
statx:332:291 symlink:88:- symlinkat:266:36 sync_file_range:277:84 sysinfo:99:179 tgkill:234:131 time:201:-
timerfd_create:283:85 timerfd_gettime:287:87 timerfd_settime:286:86 times:100:153 tkill:200:130
truncate:76:45 umask:95:166 uname:63:160 unlink:87:- unlinkat:263:35 utime:132:- utimensat:280:88
utimes:235:- vfork:58:- wait4:61:260 waitid:247:95 write:1:64 writev:20:66
"""
"""name:x86_64:aarch64; an architecture lacks the calls with a dash."""


def knows_machine() -> bool:
    """Returns whether the table has the machine's numbers."""
    return platform.system() == "Linux" and platform.machine() in _COLUMNS


def numbers_of(names: str) -> list[int]:
    """Returns the numbers of calls that the machine has; `names` are separated by spaces."""
    column = _COLUMNS[platform.machine()]
    table = {row[0]: row[column] for row in (entry.split(":") for entry in _TABLE.split())}
    return [int(number) for name in names.split() if (number := table[name]) != "-"]
