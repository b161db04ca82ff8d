package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
)

// ErrDrift is what every [DriftError] is.
var ErrDrift = errors.New("stream differs from what a ledger needs")

// Drift is one difference between the live stream and what a ledger needs.
type Drift struct {
	// Field is the name in the server's own JSON, such as max_msgs; those of
	// the stream's contents begin with "state.".
	Field string
	// Want and Got are JSON values; "unset" for none.
	Want, Got string
}

// DriftError names every difference. It is [ErrDrift]; it is also
// journal.ErrCorrupt if messages are missing, else journal.ErrRefused.
type DriftError struct {
	Stream string
	Drifts []Drift // sorted by field
}

// Error names every difference.
func (e *DriftError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stream %s: %v:", e.Stream, ErrDrift)
	for i, d := range e.Drifts {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %s is %.200q, want %.200q", d.Field, d.Got, d.Want)
	}
	return b.String()
}

// Is reports whether target is one of the sentinels named above.
func (e *DriftError) Is(target error) bool {
	lost := slices.ContainsFunc(e.Drifts, func(d Drift) bool { return strings.HasPrefix(d.Field, "state.") })
	return target == ErrDrift || lost && target == journal.ErrCorrupt || !lost && target == journal.ErrRefused
}

// CheckSettings compares the live stream with what the ledger needs: each
// setting, also one that this program does not know, and that no position is
// missing. A [DriftError] names all differences.
func (j *Journal) CheckSettings(ctx context.Context) error {
	if err := j.checkSettings(ctx); err != nil {
		return fmt.Errorf("check settings: %w", err)
	}
	return nil
}

func (j *Journal) checkSettings(ctx context.Context) error {
	info, err := j.info(ctx)
	if err != nil {
		return err
	}
	wanted, err := json.Marshal(j.config.Stream())
	if err != nil {
		return fmt.Errorf("encode settings: %w", err)
	}
	drifts, err := compareSettings(wanted, info.Config)
	if err != nil {
		return err
	}
	drifts = append(drifts, info.State.drifts()...)
	if len(drifts) > 0 {
		return &DriftError{Stream: j.stream, Drifts: drifts}
	}
	return nil
}

// streamState is the part of a stream's state that tells whether every position
// from 1 on is there.
type streamState struct {
	Msgs       uint64          `json:"messages"`
	FirstSeq   events.Position `json:"first_seq"`
	LastSeq    events.Position `json:"last_seq"`
	NumDeleted int             `json:"num_deleted"`
}

// drifts returns what shows that positions are gone. A stream that never held a
// message has first_seq 0 or 1.
func (s streamState) drifts() []Drift {
	var drifts []Drift
	add := func(field string, want, got any) {
		drifts = append(drifts, Drift{"state." + field, fmt.Sprint(want), fmt.Sprint(got)})
	}
	if s.FirstSeq > 1 || s.FirstSeq == 0 && s.LastSeq > 0 {
		add("first_seq", 1, s.FirstSeq)
	}
	if s.Msgs != uint64(s.LastSeq) {
		add("messages", s.LastSeq, s.Msgs)
	}
	if s.NumDeleted != 0 {
		add("num_deleted", 0, s.NumDeleted)
	}
	return drifts
}

// compareSettings compares two stream configurations in the server's JSON. A
// field that is missing equals one that is null, false, zero or empty.
func compareSettings(want, got []byte) ([]Drift, error) {
	w, err := settings(want)
	if err != nil {
		return nil, err
	}
	g, err := settings(got)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(w)
	maps.Copy(all, g)
	var drifts []Drift
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if w[field] != g[field] {
			drifts = append(drifts, Drift{field, orUnset(w[field]), orUnset(g[field])})
		}
	}
	return drifts, nil
}

// settings returns each field's canonical JSON, without those that are unset.
func settings(config []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(config))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil {
		return nil, fmt.Errorf("decode settings: %w", err)
	}
	// The server notes there which of its versions a stream needs.
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		maps.DeleteFunc(metadata, func(k string, _ any) bool { return strings.HasPrefix(k, "_nats.") })
	}
	out := map[string]string{}
	for k, v := range fields {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("encode setting %.80q: %w", k, err)
		}
		switch s := string(b); s {
		case "null", "false", "0", `""`, "{}", "[]":
		default:
			out[k] = s
		}
	}
	return out, nil
}

func orUnset(s string) string {
	if s == "" {
		return "unset"
	}
	return s
}
