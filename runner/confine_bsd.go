//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package runner

import "fmt"

// Landlock gives 0 and why: it is an interface of Linux.
func Landlock() (version int, reason string) { return 0, "Landlock is an interface of Linux" }

// Confine refuses: ErrConfine.
func Confine(string, []string) error {
	return fmt.Errorf("%w: Landlock is an interface of Linux", ErrConfine)
}
