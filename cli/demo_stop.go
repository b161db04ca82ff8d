package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/deedledger/deed/events"
)

// placeCall is the place just before an effect's command is started, after
// the last look at the lease.
const placeCall = "call"

// placeBefore and placeAfter are the places just before an event is submitted
// and just after it was acknowledged.
func placeBefore(t events.Type) string { return "before:" + t.Short() }
func placeAfter(t events.Type) string  { return "after:" + t.Short() }

// placeSigned is the place between a signature on an event that others sign,
// too, and the file that takes it.
const placeSigned = "signed"

// stopPoll is how often a stopped process looks whether it may go on.
const stopPoll = 10 * time.Millisecond

// reach stops this process where --demo-stop says so: it makes the file that
// the flag names and waits until somebody removes the file, or for ever.
// "deed demo --kill-at" kills it meanwhile, with no guess at how long anything
// takes; tests let it go on.
//
// The flag is hidden and set by nobody but the demo and tests. It is no
// environment variable, which a child could inherit, and it is in no
// configuration. It takes no right and skips no check: all it can do is hold
// up the process that was given it, as any signal of its user can.
func (s *session) reach(place string) error {
	file, ok := stopsAt(s.flags.demoStop, place)
	if !ok || s.stopped {
		return nil
	}
	s.stopped = true
	return stopUntilGone(file)
}

// stopsAt returns the file that PLACE=FILE names, and whether it is about a
// place.
func stopsAt(stop, place string) (file string, ok bool) {
	at, file, found := strings.Cut(stop, "=")
	return file, found && at == place
}

// stopUntilGone makes a file and waits until it is gone. A stopped process hears
// nothing, so no context ends the wait.
func stopUntilGone(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("stop for the demo: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("stop for the demo: %w", err)
	}
	return await(context.Background(), stopPoll, func() (bool, error) {
		_, err := os.Lstat(file)
		return errors.Is(err, fs.ErrNotExist), nil
	})
}
