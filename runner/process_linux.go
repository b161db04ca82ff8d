package runner

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttributes put the command into a new session, whose group it leads, and let the
// kernel kill it when the thread that started it ends.
//
// A group in the session of this process would become orphaned when this process dies:
// the kernel continues the members of such a group that are stopped, so that a script
// could go on between the leash's stop and its kill.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
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
