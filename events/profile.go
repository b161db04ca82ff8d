package events

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Constants of the profile deed-ce/v1.
const (
	// SpecVersion is the CloudEvents version of every event.
	SpecVersion = "1.0"
	// ContentType is the media type of every event's data.
	ContentType = "application/json"
	// PayloadType is the DSSE payload type of the Verifiable CloudEvents
	// extension.
	PayloadType = "https://cloudevents.io/verifiability/dsse/v0.1"
	// TimeLayout is the only spelling of a time in events, always UTC.
	TimeLayout = "2006-01-02T15:04:05Z"
)

// Limits of the profile, in bytes.
const (
	// MaxData bounds the data of one event.
	MaxData = 48 << 10
	// MaxAttribute bounds the value of one attribute other than dssematerial.
	MaxAttribute = 512
	// MaxEnvelope bounds a decoded DSSE envelope: eight signatures fit.
	MaxEnvelope = 8 << 10
	// MaxExport bounds an exported event.
	MaxExport = 96 << 10
)

// signedExtensions is the order in which extension attributes are signed.
// Read-only.
var signedExtensions = [...]string{
	"sequence", "prevhash", "fencetoken", "causationid", "correlationid",
	"authtype", "authid", "signkeyid", "traceparent",
}

// ValidLedger reports whether s can name a ledger.
func ValidLedger(s string) bool { return len(s) <= 32 && matchName(s, false, "-") }

// ValidTask reports whether s can name a task.
func ValidTask(s string) bool { return len(s) <= 64 && matchName(s, true, "_-") }

// ValidActor reports whether s can name an actor or a principal.
func ValidActor(s string) bool { return len(s) <= 64 && matchName(s, false, "._-@+") }

// ValidAttempt reports whether s can name an attempt.
func ValidAttempt(s string) bool { return len(s) <= 32 && matchName(s, false, "-") }

// matchName reports whether s is a letter or digit followed by letters,
// digits and the punctuation given; upper-case letters count where allowed.
func matchName(s string, upper bool, punctuation string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', upper && c >= 'A' && c <= 'Z':
		case i > 0 && strings.IndexByte(punctuation, c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

// validID reports whether s is a UUIDv7 (RFC 9562) in lower case.
func validID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !isHex(c) {
				return false
			}
		}
	}
	return s[14] == '7' && strings.IndexByte("89ab", s[19]) >= 0
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

// ParseTime parses the one spelling of a time that events use.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(TimeLayout, s)
	if err != nil || t.Format(TimeLayout) != s {
		return time.Time{}, fmt.Errorf("parse time %q: want YYYY-MM-DDTHH:MM:SSZ", s)
	}
	return t, nil
}

// FormatTime returns t in the one spelling that events use, cut to seconds.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeLayout) }

// FormatStamp returns an admission stamp, in ns, as FormatTime does a time.
func FormatStamp(ns int64) string { return FormatTime(time.Unix(0, ns)) }

// FormatSequence returns n as the 20 digits of a sequence attribute.
func FormatSequence(n uint64) string { return fmt.Sprintf("%020d", n) }

// ParseSequence parses exactly 20 digits.
func ParseSequence(s string) (uint64, error) {
	if len(s) != 20 {
		return 0, fmt.Errorf("parse sequence %q: want 20 digits", s)
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || FormatSequence(n) != s {
		return 0, fmt.Errorf("parse sequence %q: want 20 digits", s)
	}
	return n, nil
}

// ParseFence parses a fence: a decimal number from 1 without leading zero.
func ParseFence(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || n == 0 || FormatFence(n) != s {
		return 0, fmt.Errorf("parse fence %q: want a decimal number from 1", s)
	}
	return n, nil
}

// FormatFence returns the text form of a fence.
func FormatFence(n uint64) string { return strconv.FormatUint(n, 10) }

// Source names one chain of events: a ledger's registry, or one of its tasks.
type Source struct {
	Ledger string
	// Task is empty for the registry.
	Task string
}

// String returns the source attribute: "/ledgers/L/registry" or
// "/ledgers/L/tasks/T".
func (s Source) String() string {
	if s.Task == "" {
		return "/ledgers/" + s.Ledger + "/registry"
	}
	return "/ledgers/" + s.Ledger + "/tasks/" + s.Task
}

// Subject returns the literal journal subject of the source:
// "deed.L.ev.registry" or "deed.L.ev.task.T".
func (s Source) Subject() string {
	if s.Task == "" {
		return "deed." + s.Ledger + ".ev.registry"
	}
	return "deed." + s.Ledger + ".ev.task." + s.Task
}

// ParseSource parses a source attribute.
func ParseSource(text string) (Source, error) {
	rest, ok := strings.CutPrefix(text, "/ledgers/")
	ledger, rest, found := strings.Cut(rest, "/")
	s := Source{Ledger: ledger}
	if task, isTask := strings.CutPrefix(rest, "tasks/"); isTask {
		s.Task = task
		ok = ok && ValidTask(task)
	} else {
		ok = ok && rest == "registry"
	}
	if !ok || !found || !ValidLedger(ledger) {
		return Source{}, fmt.Errorf("parse source %q: want /ledgers/<ledger>/registry or /ledgers/<ledger>/tasks/<task>", text)
	}
	return s, nil
}
