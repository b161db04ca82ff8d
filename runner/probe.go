package runner

import (
	"context"
	"fmt"
	"io"
)

// ProbeStatus is what a probe found.
type ProbeStatus string

// The statuses of a probe. Whatever is not one of the first two is ProbeUnknown.
const (
	ProbeFound   ProbeStatus = "found"
	ProbeAbsent  ProbeStatus = "absent"
	ProbeUnknown ProbeStatus = "unknown"
)

// ProbeResult is the answer of a probe. With ProbeUnknown only Reason is set.
type ProbeResult struct {
	Status     ProbeStatus
	ExternalID string
	Token      string
	Digest     string // SHA-256 of what exists, lower hex, or ""
	Complete   bool   // the provider's visibility delay has passed: absent means absent
	Reason     string // why the status is unknown; may hold untrusted names
	Output     Output // standard output and error
}

// probeAnswer is what a probe prints on standard output: one JSON object. status is
// required, the rest has the zero value where it is left out.
type probeAnswer struct {
	Status     ProbeStatus `json:"status"`
	ExternalID string      `json:"externalId"`
	Token      string      `json:"token"`
	Digest     string      `json:"digest"`
	Complete   bool        `json:"complete"`
}

// RunProbe runs a command that must change nothing and must print one JSON object
//
//	{"status":"found|absent|unknown","externalId":"…","token":"…","digest":"…","complete":false}
//
// on standard output and exit with status 0. Anything else, such as another exit status, a
// timeout, junk, or a status it does not know, is ProbeUnknown: silence is never absence.
func RunProbe(ctx context.Context, call EffectCall) ProbeResult {
	unknown := func(reason string, output Output) ProbeResult {
		return ProbeResult{Status: ProbeUnknown, Reason: reason, Output: output}
	}
	limit, err := checkCall(call)
	if err != nil {
		return unknown(err.Error(), newRecorder(0).output())
	}
	home, err := makeHome("deed-probe-")
	if err != nil {
		return unknown(err.Error(), newRecorder(0).output())
	}
	defer func() { _ = removeTree(home) }()
	answer := &answerBuffer{}
	record := newRecorder(call.OutputBytes)
	end := process{
		argv: call.Command, dir: call.Dir, timeout: limit, env: call.environment(home),
		stdout: io.MultiWriter(answer, record), stderr: record,
	}.run(ctx)
	switch {
	case end.startErr != nil:
		return unknown("could not start: "+end.startErr.Error(), record.output())
	case end.timedOut:
		return unknown("timed out", record.output())
	case end.exitCode != 0:
		return unknown(fmt.Sprintf("exit %d %s", end.exitCode, end.signal), record.output())
	}
	result := parseProbe(answer.text)
	result.Output = record.output()
	return result
}

// parseProbe reads a probe's standard output. It is pure.
func parseProbe(text []byte) ProbeResult {
	var a probeAnswer
	if err := parseReply(text, &a); err != nil {
		return ProbeResult{Status: ProbeUnknown, Reason: err.Error()}
	}
	result := ProbeResult{Status: a.Status, ExternalID: a.ExternalID, Token: a.Token, Digest: a.Digest, Complete: a.Complete}
	named := a.ExternalID != "" || a.Token != "" || a.Digest != ""
	switch {
	case !isPlainField(a.ExternalID) || !isPlainField(a.Token) || !isDigestOrNone(a.Digest):
		return ProbeResult{Status: ProbeUnknown, Reason: "field is not of the agreed form"}
	case a.Status == ProbeFound:
		return result
	case a.Status == ProbeAbsent && !named:
		return result
	case a.Status == ProbeAbsent:
		return ProbeResult{Status: ProbeUnknown, Reason: "absent, yet it names something"}
	case a.Status == ProbeUnknown:
		return ProbeResult{Status: ProbeUnknown, Reason: "the probe does not know"}
	}
	return ProbeResult{Status: ProbeUnknown, Reason: "status is not one of the agreed ones"}
}

// answerBuffer keeps one byte more than a reply may have and drops the rest.
type answerBuffer struct{ text []byte }

func (b *answerBuffer) Write(p []byte) (int, error) {
	if room := maxReplyBytes + 1 - len(b.text); room > 0 {
		b.text = append(b.text, p[:min(room, len(p))]...)
	}
	return len(p), nil
}
