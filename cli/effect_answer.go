package cli

import (
	"fmt"
	"strings"

	"github.com/deedledger/deed/projections"
)

// keyWord returns the shortened key of an effect as a word for a command line
// that somebody may paste: an actor chose it.
func keyWord(e *projections.Effect) string { return wordOf(shortKey(e.Intent.Key)) }

// wordOf quotes a text for a shell, where it holds more than letters, digits
// and signs that no shell reads.
func wordOf(text string) string {
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:/@=+,-", r))
	}
	if strings.IndexFunc(text, odd) < 0 && !strings.HasPrefix(text, "-") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// probes reports whether asking the effect's probe can settle it: against
// proof that contradicts itself only a person can.
func probes(e *projections.Effect) bool {
	return probed(e) && e.Ambiguous() && e.Status() != projections.StatusConflict
}

// settleHint names what settles an effect whose outcome is open.
func settleHint(err error, task string, e *projections.Effect) error {
	name, probe := task+" "+keyWord(e), ""
	if e.Status() == projections.StatusPartial {
		return withHint(err, "run the same command again for the parts that failed; or undo those that are there: deed effect compensate %s -- COMMAND", name)
	}
	if probes(e) {
		probe = "ask its probe: deed effect probe " + name + " --record; "
	}
	return withHint(err, "%swhere nobody can know, the owner looks and states it: deed effect settle %s --outcome confirmed|failed --evidence TEXT [--external-id ID]", probe, name)
}

// fate says what became of an answer.
func (a probeAnswer) fate(record bool) string {
	switch {
	case a.Recorded:
		return "recorded"
	case a.Status == projections.StatusUnknown:
		return "nothing to record"
	case record:
		return "not recorded: the ledger knows as much already"
	}
	return "not recorded: --record does"
}

// unknownAmong returns the error that gives printed answers their exit code,
// nil when each says what happened.
func unknownAmong(task string, answers []probeAnswer) error {
	for _, a := range answers {
		if a.Status == projections.StatusUnknown || a.Status == projections.StatusConflict {
			key := shortKey(a.Key)
			return told{withHint(fmt.Errorf("%w: effect %s is %s", errEffect, key, a.Status),
				"look outside, then state it as the owner: deed effect settle %s %s --outcome confirmed|failed --evidence TEXT [--external-id ID]", task, wordOf(key))}
		}
	}
	return nil
}
