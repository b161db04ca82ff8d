package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/deedledger/deed/ledger"
	"github.com/spf13/cobra"
)

// hinted is an error that says itself what to do next, better than the tables
// in exit.go can.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// withHint gives an error its own hint; nil stays nil. A hint that is there
// already, from closer to the fault, stays.
func withHint(err error, format string, args ...any) error {
	if _, ok := errors.AsType[hinted](err); ok || err == nil {
		return err
	}
	return hinted{err, fmt.Sprintf(format, args...)}
}

// withCodeHint is withHint for refusals with a code alone.
func withCodeHint(err error, code ledger.Code, format string, args ...any) error {
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Code == code {
		return withHint(err, format, args...)
	}
	return err
}

// topic is what a command turned out to be about, for its hints. Its parts are
// valid names or empty.
type topic struct{ task, kind string }

// about is an error of a command with a topic.
type about struct {
	error
	topic
}

func (a about) Unwrap() error { return a.error }

// fill puts the names that are known in the place of TASK and TYPE.
func (t topic) fill(hint string) string {
	if t.task != "" {
		hint = replaceWord(hint, "TASK", t.task)
	}
	if t.kind != "" {
		hint = replaceWord(hint, "TYPE", t.kind)
	}
	return hint
}

// replaceWord replaces a word where it stands alone: a name such as TASK-1 is
// filled in already.
func replaceWord(text, word, with string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, word)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if joins(before[len(before)-min(1, len(before)):]) || joins(after[:min(1, len(after))]) {
			b.WriteString(word)
		} else {
			b.WriteString(with)
		}
		text = after
	}
}

// joins reports whether a character belongs to a name.
func joins(c string) bool {
	return c != "" && (c == "-" || c == "_" || c[0] >= '0' && c[0] <= '9' || c[0]|0x20 >= 'a' && c[0]|0x20 <= 'z')
}

// explain adds to a command's error what its hint needs to know.
func (s *session) explain(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errNoService) && s.folder != nil && cmd.Flags().Lookup("dry-run") == nil {
		err = withHint(err, "start one with: deed up; without one, deed log, event show, replay and audit verify read the stopped folder")
	}
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Class == ledger.Unavailable && s.folder != nil {
		if url, joined, errURL := s.folder.Remote(); joined && errURL == nil {
			err = withHint(err, "its service was last known at %s; where it has another address now: deed actor join --token-file FILE --url nats://HOST:PORT, with the token of then", url)
		}
	}
	if s.topic != (topic{}) {
		err = about{err, s.topic}
	}
	return err
}

// message is what an error says to people. What is not there reads the same,
// whoever missed it.
func message(err error, exit int) string {
	text := err.Error()
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Code == ledger.CodeNotFound {
		text = strings.Replace(text, r.Error(), errMissing.Error()+": "+r.Text, 1)
	}
	if exit == ExitNotFound && !strings.Contains(text, errMissing.Error()) {
		text = errMissing.Error() + ": " + text
	}
	return text
}
