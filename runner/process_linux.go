package runner

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttributes put the command into a new group and let the kernel kill it when the
// thread that started it ends.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns when the child has exited and leaves it unreaped.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

func signalName(s syscall.Signal) string { return unix.SignalName(s) }
