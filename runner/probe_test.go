package runner

import (
	"strings"
	"testing"
	"time"
)

func TestRunProbe(t *testing.T) {
	dir := t.TempDir()
	good := `{"status":"found","externalId":"run/1","token":"token","digest":"` + strings.Repeat("a", 64) + `","complete":true}`
	got := RunProbe(t.Context(), call(dir, shell("echo noise >&2; test \"$DEED_IDEMPOTENCY_KEY$DEED_FENCE$DEED_TOKEN\" = key7token && echo '"+good+"'")))
	if got.Status != ProbeFound || got.ExternalID != "run/1" || got.Token != "token" || !got.Complete || got.Digest != strings.Repeat("a", 64) {
		t.Errorf("%+v", got)
	}
	if got := RunProbe(t.Context(), call(dir, shell(`echo '{"status":"absent","complete":true}'`))); got.Status != ProbeAbsent || !got.Complete {
		t.Errorf("%+v", got)
	}
	slow := call(dir, shell("echo '"+good+"'; exec tail -f /dev/null"))
	slow.Timeout = 100 * time.Millisecond
	noKey := call(dir, shell("echo '"+good+"'"))
	noKey.Key = ""
	for name, c := range map[string]EffectCall{
		"exit 1":      call(dir, shell("echo '"+good+"'; exit 1")),
		"killed":      call(dir, shell("echo '"+good+"'; kill -9 $$")),
		"silent":      call(dir, []string{"true"}),
		"no program":  call(dir, []string{"no-such-program-here"}),
		"two answers": call(dir, shell("echo '"+good+good+"'")),
		"flood":       call(dir, shell("head -c 10000000 /dev/zero")),
		"timeout":     slow,
		"no key":      noKey,
	} {
		if got := RunProbe(t.Context(), c); got.Status != ProbeUnknown || got.Reason == "" || got.Complete || got.ExternalID != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestParseProbeRefuses(t *testing.T) {
	for _, text := range []string{
		"", "{}", "null", "[]", `"found"`, `{"status":"gone"}`, `{"status":"Found"}`, `{"status":"FOUND","externalId":"a"}`, `{"status":null}`,
		`{"status":"unknown","complete":true}`, `{"status":"absent","externalId":"a"}`, `{"status":"absent","token":"a","complete":true}`,
		`{"status":"found","status":"absent"}`, `{"Status":"absent"}`, `{"status":"absent","why":"x"}`, `{"status":"absent","complete":"true"}`,
		`{"status":"absent","complete":1}`, `{"status":"absent"} x`, `{"status":"absent"}{}`, `{"status":"found","digest":"abc"}`,
		`{"status":"found","digest":"` + strings.Repeat("A", 64) + `"}`, `{"status":"found","externalId":"a\nb"}`, `{"status":"found","externalId":"a\u0000"}`,
		`{"status":"found","token":"` + strings.Repeat("a", maxReplyFieldBytes+1) + `"}`, "{\"status\":\"found\",\"token\":\"\xff\"}",
		strings.Repeat(" ", maxReplyBytes) + `{"status":"absent"}`, "\ufeff" + `{"status":"absent"}`, `{'status':'absent'}`, `{"status":"absent",}`,
	} {
		if got := parseProbe([]byte(text)); got.Status != ProbeUnknown || got.Complete || got.ExternalID != "" {
			t.Errorf("parseProbe(%.60q) = %+v", text, got)
		}
	}
}

func TestJudge(t *testing.T) {
	ours, theirs := strings.Repeat("a", 64), strings.Repeat("b", 64)
	found := func(id, token, digest string) ProbeResult {
		return ProbeResult{Status: ProbeFound, ExternalID: id, Token: token, Digest: digest}
	}
	for _, c := range []struct {
		name  string
		probe ProbeResult
		mine  string // our digest
		dead  bool
		want  EffectVerdict
		rule  string
	}{
		{"our token", found("1", "t2", ""), ours, false, EffectConfirmed, "found-our-token"},
		{"token of an earlier try", found("1", "t1", ours), ours, false, EffectConfirmed, "found-our-token"},
		{"our token, no digest of ours", found("1", "t2", theirs), "", false, EffectConfirmed, "found-our-token"},
		{"already there, our digest", found("1", "", ours), ours, false, EffectConfirmed, "found-our-digest"},

		{"another digest", found("1", "", theirs), ours, true, EffectConflict, "found-other-digest"},
		{"our token, another digest", found("1", "t2", theirs), ours, true, EffectConflict, "found-other-digest"},
		{"another token", found("1", "x", ours), ours, true, EffectConflict, "found-other-token"},
		{"another token, no digest", found("1", "x", ""), "", true, EffectConflict, "found-other-token"},
		{"another digest, no id", found("", "", theirs), ours, true, EffectConflict, "found-other-digest"},

		{"no id", found("", "t2", ours), ours, true, EffectUnknown, "found-without-id"},
		{"no mark", found("1", "", ""), ours, true, EffectUnknown, "found-unmarked"},
		{"no mark to compare", found("1", "", theirs), "", true, EffectUnknown, "found-unmarked"},
		{"both digests empty", found("1", "", ""), "", true, EffectUnknown, "found-unmarked"},

		{"absent, proven", ProbeResult{Status: ProbeAbsent, Complete: true}, ours, true, EffectAbsentProven, "absent-complete-call-dead"},
		{"absent, call may run", ProbeResult{Status: ProbeAbsent, Complete: true}, ours, false, EffectUnknown, "absent-call-may-run"},
		{"absent, not complete", ProbeResult{Status: ProbeAbsent}, ours, true, EffectUnknown, "absent-not-complete"},
		{"unknown", ProbeResult{Status: ProbeUnknown}, ours, true, EffectUnknown, "probe-unknown"},
		{"unheard-of", ProbeResult{Status: "gone", Complete: true}, ours, true, EffectUnknown, "probe-unknown"},
		{"no probe", ProbeResult{}, ours, true, EffectUnknown, "probe-unknown"},
		{"complete without status", ProbeResult{Complete: true}, ours, true, EffectUnknown, "probe-unknown"},
	} {
		got, rule := Judge(Evidence{Tokens: []string{"t1", "t2"}, Digest: c.mine, Probe: c.probe, CallDead: c.dead})
		if got != c.want || rule != c.rule {
			t.Errorf("%s: %s by %s, want %s by %s", c.name, got, rule, c.want, c.rule)
		}
	}
	judgeProviders(t)
	if got, _ := Judge(Evidence{Tokens: []string{""}, Probe: found("1", "", "")}); got != EffectUnknown {
		t.Errorf("an empty token equals an empty token: %s", got)
	}
}

// judgeProviders has what a provider promises: it turns an absence into leave
// to try again, and changes nothing else.
func judgeProviders(t *testing.T) {
	t.Helper()
	absent, complete := ProbeResult{Status: ProbeAbsent}, ProbeResult{Status: ProbeAbsent, Complete: true}
	for _, c := range []struct {
		name            string
		probe           ProbeResult
		dedupes, fenced bool
		want            EffectVerdict
		rule            string
	}{
		{"dedupes", absent, true, false, EffectAbsentProven, "absent-provider-dedupes"},
		{"dedupes, complete", complete, true, false, EffectAbsentProven, "absent-provider-dedupes"},
		{"fenced, complete", complete, false, true, EffectAbsentProven, "absent-complete-call-fenced"},
		{"fenced, not complete", absent, false, true, EffectUnknown, "absent-not-complete"},
		{"no promise", complete, false, false, EffectUnknown, "absent-call-may-run"},
		{"probe unknown", ProbeResult{Status: ProbeUnknown}, true, true, EffectUnknown, "probe-unknown"},
		{"no probe", ProbeResult{}, true, true, EffectUnknown, "probe-unknown"},
		{"found without a mark", ProbeResult{Status: ProbeFound, ExternalID: "1"}, true, true, EffectUnknown, "found-unmarked"},
		{"another token", ProbeResult{Status: ProbeFound, ExternalID: "1", Token: "x"}, true, true, EffectConflict, "found-other-token"},
	} {
		got, rule := Judge(Evidence{Tokens: []string{"t1"}, Probe: c.probe, Dedupes: c.dedupes, Fenced: c.fenced})
		if got != c.want || rule != c.rule {
			t.Errorf("%s: %s by %s, want %s by %s", c.name, got, rule, c.want, c.rule)
		}
	}
}
