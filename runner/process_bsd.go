//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package runner

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttributes put the command into a new session and group. There is no parent-death signal here;
// the leash alone ends the group when this process dies.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// awaitExit returns when the child has exited and leaves it unreaped.
func awaitExit(pid int) {
	queue, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(queue) }()
	change := make([]unix.Kevent_t, 1)
	unix.SetKevent(&change[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change[0].Fflags = unix.NOTE_EXIT
	for events := make([]unix.Kevent_t, 1); ; {
		n, err := unix.Kevent(queue, change, events, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n > 0 {
			return
		}
	}
}

func signalName(s syscall.Signal) string { return unix.SignalName(s) }
