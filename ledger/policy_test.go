package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

func compile(t *testing.T, cedar string, tiers events.Tiers) *Policy {
	t.Helper()
	p, err := CompilePolicy(&events.Policy{Cedar: cedar, Automation: tiers, Reason: "r"})
	if err != nil {
		t.Fatalf("compile %q: %v", cedar, err)
	}
	return p
}

// TestCompilePolicy offers what is no policy.
func TestCompilePolicy(t *testing.T) {
	many := strings.Repeat("forbid(principal, action, resource) when { false };\n", maxStatements)
	for name, text := range map[string]string{
		"nothing": "", "a comment": "// none\n", "one": `forbid(principal, action, resource) when { false };`, "the most": many,
		"annotated": `@id("a") @reason("b") @owner("c") forbid(principal, action, resource) unless { true };`,
	} {
		if _, err := CompilePolicy(&events.Policy{Cedar: text}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"a permit":        `permit(principal, action, resource);`,
		"a permit after":  `forbid(principal, action, resource) when { false }; permit(principal, action, resource);`,
		"prose":           "separation: nobody judges their own work",
		"no end":          `forbid(principal, action, resource)`,
		"half a string":   `forbid(principal, action, resource) when { resource.id == "`,
		"a template":      `forbid(principal == ?principal, action, resource);`,
		"an unknown call": `forbid(principal, action, resource) when { now() };`,
		"one id twice":    `@id("a") forbid(principal, action, resource) when { false }; @id("a") forbid(principal, action, resource) when { false };`,
		"an id of another": `forbid(principal, action, resource) when { false };
			@id("policy-1") forbid(principal, action, resource) when { false };`,
		"an empty id":                 `@id("") forbid(principal, action, resource) when { false };`,
		"an id with space":            `@id("a b") forbid(principal, action, resource) when { false };`,
		"an escape in id":             "@id(\"a\\u{1b}[2J\") forbid(principal, action, resource) when { false };",
		"a long id":                   `@id("` + strings.Repeat("a", 65) + `") forbid(principal, action, resource) when { false };`,
		"a broken reason":             `@reason("a\nb") forbid(principal, action, resource) when { false };`,
		"no reason":                   `@reason("") forbid(principal, action, resource) when { false };`,
		"a long reason":               `@reason("` + strings.Repeat("a", 501) + `") forbid(principal, action, resource) when { false };`,
		"one too many":                many + "forbid(principal, action, resource) when { false };",
		"deep brackets":               "forbid(principal, action, resource) when { " + strings.Repeat("(", 4000) + "true" + strings.Repeat(")", 4000) + " };",
		"deep conditions":             "forbid(principal, action, resource) when { " + strings.Repeat("if true then true else ", 600) + " true };",
		"brackets closed in comments": "forbid(principal, action, resource) when { " + strings.Repeat("( //)\n", 1000) + "true" + strings.Repeat(")", 1000) + " };",
		"brackets closed in a string": `forbid(principal, action, resource) when { "\"` + strings.Repeat(")", 1000) + `" == ` + strings.Repeat("(", 1000) + `"a"` + strings.Repeat(")", 1000) + " };",
		"a row of negations":          "forbid(principal, action, resource) when { " + strings.Repeat("!", 600) + "true };",
		"a row of signs":              "forbid(principal, action, resource) when { 1 == " + strings.Repeat("-", 600) + "1 };",
		"a row of attributes":         "forbid(principal, action, resource) when { resource" + strings.Repeat(".a", 600) + " };",
		"a row of conditions":         "forbid(principal, action, resource) when { true" + strings.Repeat(" && true", 300) + " };",
		"NUL":                         "forbid(principal, action, resource) when { false };\x00",
	} {
		if _, err := CompilePolicy(&events.Policy{Cedar: text}); !errors.Is(err, ErrPolicy) {
			t.Errorf("%s: got %v, want ErrPolicy", name, err)
		}
	}
}

// stamp returns 15:00 UTC on a day of the week of 2026-11-30, a Monday.
func stamp(day time.Weekday) int64 {
	return time.Date(2026, 11, 29+int(day), 15, 0, 0, 0, time.UTC).UnixNano()
}

func question(mods ...func(*Question)) Question {
	q := Question{
		Actor: "olga", Principal: "olga-s", Kind: events.KindHuman, Roles: []events.Role{events.RoleOperator},
		Type: events.EffectDispatched, Row: "effect.dispatched", Task: "TASK-1", State: projections.Releasing, Tier: "production",
		Paths: []string{"src/auth/login.go", "README.md"}, Attempts: 2, Repairs: 1, Approvers: 1,
		EffectKind: "production-deploy", EffectTarget: "eu-1", Admitted: stamp(time.Friday),
	}
	for _, m := range mods {
		m(&q)
	}
	return q
}

// TestWhatAPolicySees writes each thing that a policy can look at as a
// condition that holds, and as one that does not.
func TestWhatAPolicySees(t *testing.T) {
	for condition, want := range map[string]bool{
		`principal == Actor::"olga"`: true, `principal == Actor::"otto"`: false,
		`principal in Role::"operator"`: true, `principal in Role::"admin"`: false,
		`principal in Kind::"human"`: true, `principal in Kind::"agent"`: false,
		`principal in Principal::"olga-s"`: true, `principal in Principal::"olga"`: false,
		`principal.kind == "human" && principal.actor == "olga" && principal.principal == "olga-s"`: true,
		`principal.roles.contains("operator")`:                                                      true, `principal.roles.contains("owner")`: false,
		`action == Action::"effect.dispatched"`: true, `action in Action::"effect"`: true, `action in Action::"lease"`: false,
		`resource == Task::"TASK-1" && resource.id == "TASK-1"`: true, `resource == Task::"TASK-2"`: false,
		`resource.state == "Releasing"`: true, `resource.riskTier == "production"`: true, `resource.riskTier == "code"`: false,
		`resource.attempts == 2 && resource.repairs == 1`: true, `resource.attempts > 2`: false,
		`resource.paths.contains("README.md")`: true, `resource.paths.contains("README")`: false,
		`resource.pathList like "* src/auth/*"`: true, `resource.pathList like "* auth/*"`: false, `resource.pathList like "*.go *"`: true,
		`context.effect.kind == "production-deploy" && context.effect.target == "eu-1"`: true, `context.effect.kind == "merge"`: false,
		`context.time.weekday == "Friday" && context.time.hour == 15 && context.time.date == "2026-12-04"`: true, `context.time.hour < 15`: false,
		`context.time.stamp > datetime("2026-12-04") && context.time.stamp < datetime("2026-12-05")`: true,
		`context.approvers < 2`: true, `context.approvers > 1`: false,
		`context.automation == "evidence-only"`: true, `context.automation == "auto"`: false,
		// What cannot be evaluated forbids.
		`context.nothing`: true, `resource.nothing == "x"`: true, `context.approvers == 1 + 9223372036854775807`: true, `context.approvers`: true,
		`context.time.stamp < datetime("no date")`: true, `context.time.stamp < datetime("2026-12-04", "x")`: true,
	} {
		p := compile(t, "forbid(principal, action, resource) when { "+condition+" };", events.Tiers{Production: events.AutomationEvidence})
		if got := len(p.Bans(question())) > 0; got != want {
			t.Errorf("%s: forbidden %t, want %t", condition, got, want)
		}
	}
}

// TestBansNameThePolicy demands id and reason of every statement that forbids.
func TestBansNameThePolicy(t *testing.T) {
	p := compile(t, `
		@id("a") @reason("because") forbid(principal, action, resource);
		forbid(principal, action, resource) when { false };
		forbid(principal, action, resource);
		@id("broken") forbid(principal, action, resource) when { context.nothing };`, events.Tiers{})
	bans := p.Bans(question())
	if len(bans) != 3 || bans[0] != (Ban{"a", "because"}) || bans[1] != (Ban{"policy-3", ""}) || bans[2].Policy != "broken" || bans[2].Reason == "" {
		t.Errorf("bans are %+v", bans)
	}
	var none *Policy
	if bans := none.Bans(question()); bans != nil {
		t.Errorf("no policy forbids %v", bans)
	}
	unread := &Policy{broken: ErrPolicy}
	if bans := unread.Bans(question()); len(bans) != 1 {
		t.Errorf("a policy that cannot be read forbids %v", bans)
	}
}

// TestFactsAreNobodysToForbid offers facts and the service's events to a
// policy that forbids everything.
func TestFactsAreNobodysToForbid(t *testing.T) {
	p := compile(t, "forbid(principal, action, resource);", events.Tiers{Production: events.AutomationOff})
	for _, kind := range []events.Type{events.EffectConfirmed, events.EffectFailed, events.EffectUnknown, events.EffectCompensated, events.FindingRecorded} {
		q := question(func(q *Question) { q.Type, q.Row, q.Kind = kind, kind.Short(), events.KindAgent })
		if bans := p.Bans(q); bans != nil {
			t.Errorf("%s is forbidden: %v", kind.Short(), bans)
		}
	}
	service := question(func(q *Question) {
		q.Kind, q.Type, q.Row = events.KindService, events.AttemptInterrupted, "attempt.interrupted"
	})
	if bans := p.Bans(service); bans != nil {
		t.Errorf("the service is forbidden: %v", bans)
	}
}

// TestAutomation walks level × kind × event.
func TestAutomation(t *testing.T) {
	free := map[events.Automation][]string{
		events.AutomationOff:      {},
		events.AutomationEvidence: {"receipt.recorded"},
		events.AutomationDraft:    {"receipt.recorded", "lease.claimed work", "result.recorded", "effect.dispatched preview", "effect.intended commit", "delivery.recorded"},
		events.AutomationAuto: {"receipt.recorded", "lease.claimed work", "result.recorded", "effect.dispatched preview", "effect.intended commit",
			"effect.dispatched merge", "effect.intended production-deploy", "effect.intended notify", "delivery.recorded"},
	}
	all := map[string]Question{}
	for _, name := range free[events.AutomationAuto] {
		short, variant, _ := strings.Cut(name, " ")
		all[name] = question(func(q *Question) { q.Type, q.Row, q.EffectKind = events.TypeOf(short), short, variant })
	}
	for _, level := range events.Automations() {
		p := compile(t, "", events.Tiers{Production: level})
		for name, q := range all {
			for _, kind := range []events.Kind{events.KindAgent, events.KindCI, events.KindHuman, events.KindService} {
				q.Kind = kind
				want := kind == events.KindHuman || kind == events.KindService || slices.Contains(free[level], name)
				bans := p.Bans(q)
				if (len(bans) == 0) != want {
					t.Errorf("%s by %s at %s: forbidden by %v", name, kind, level, bans)
				}
				q.Tier = "code"
				if bans := p.Bans(q); bans != nil {
					t.Errorf("%s by %s at another tier: forbidden by %v", name, kind, bans)
				}
				q.Tier = ""
				if bans := p.Bans(q); (len(bans) == 0) != want {
					t.Errorf("%s by %s at %s where the tier is unknown: forbidden by %v", name, kind, level, bans)
				}
				q.Tier = "production"
			}
		}
	}
}

// TestLockout offers policies that would close a way on for ever, and ones
// that look like it.
func TestLockout(t *testing.T) {
	g := &projections.Registry{Actors: []*projections.Actor{
		{Name: "ann", Kind: events.KindHuman, Principal: "ann", Roles: []events.Role{events.RoleOwner}},
		{Name: "eve", Kind: events.KindHuman, Principal: "eve", Roles: []events.Role{events.RoleOwner, events.RoleReviewer}, Revoked: 4},
	}}
	closed := func(p *Policy) []Blocked { return LockedOut(p, g, stamp(time.Monday)) }
	for _, text := range []string{
		`forbid(principal, action, resource);`,
		`forbid(principal, action == Action::"escalation.resolved", resource);`,
		`forbid(principal, action == Action::"task.cancelled", resource);`,
		`forbid(principal, action in Action::"lease.claimed", resource);`,
		`forbid(principal, action == Action::"lease.claimed recover", resource) when { resource.riskTier == "production" };`,
		`forbid(principal, action, resource) when { resource.state == "AwaitingReview" };`,
		`forbid(principal in Kind::"human", action, resource);`,
		`forbid(principal, action == Action::"approval.recorded", resource) unless { principal == Actor::"eve" };`,
		`forbid(principal, action, resource) unless { principal == Actor::"nobody" };`,
		`forbid(principal, action == Action::"delivery.recorded", resource) when { context.time.hour < 24 };`,
		`forbid(principal, action == Action::"receipt.recorded", resource) when { context.nothing };`,
		`@id("a") forbid(principal, action == Action::"result.recorded", resource) when { context.time.hour < 12 };
		 @id("b") forbid(principal, action == Action::"result.recorded", resource) when { context.time.hour >= 12 };`,
	} {
		if list := closed(compile(t, text, events.Tiers{})); len(list) == 0 {
			t.Errorf("%s locks nobody out", text)
		}
	}
	for _, text := range []string{
		``, `forbid(principal in Kind::"agent", action, resource);`,
		`forbid(principal, action, resource) when { context.time.weekday != "Wednesday" };`,
		`forbid(principal, action, resource) when { context.time.stamp < datetime("2026-12-24") };`,
		`forbid(principal, action, resource) when { resource.pathList like "* infra/*" };`,
		`forbid(principal, action in Action::"effect", resource);`,
		`forbid(principal, action == Action::"task.cancelled", resource) unless { principal == Actor::"ann" };`,
		`forbid(principal, action, resource) when { resource.id == "TASK-7" };`,
		`forbid(principal, action in [Action::"lease.claimed release", Action::"delivery.recorded"], resource) when { context.approvers < 2 };`,
	} {
		if list := closed(compile(t, text, events.Tiers{})); len(list) > 0 {
			t.Errorf("%s locks out: %+v", text, list)
		}
	}
	off := events.Tiers{ReadOnly: events.AutomationOff, Code: events.AutomationOff, Preview: events.AutomationOff, Production: events.AutomationOff}
	if list := closed(compile(t, "", off)); len(list) > 0 {
		t.Errorf("automation off locks people out: %+v", list)
	}
	if list := closed(compile(t, `forbid(principal in Kind::"human", action == Action::"result.recorded", resource);`, off)); len(list) != 4 {
		t.Errorf("people and agents are both barred: %+v", list)
	}
}

// TestWaysAreRows demands that each way on is a row that is legal in its
// state, and that no state but the final ones is without one.
func TestWaysAreRows(t *testing.T) {
	has := map[projections.State]bool{}
	for _, w := range ways() {
		i := slices.IndexFunc(Table(), func(r Row) bool { return r.Name() == w.row })
		if i < 0 || !slices.Contains(Table()[i].In, w.state) {
			t.Errorf("%s is no row in %s", w.row, w.state)
		}
		has[w.state] = has[w.state] || w.row != "task.cancelled"
	}
	for _, s := range projections.States() {
		if !s.Final() && !has[s] {
			t.Errorf("no way on from %s", s)
		}
	}
}

// TestSurvey demands the days on which a policy forbids.
func TestSurvey(t *testing.T) {
	p := compile(t, `@id("f") forbid(principal, action == Action::"effect.dispatched", resource)
		when { context.effect.kind == "production-deploy" && ["Friday", "Monday"].contains(context.time.weekday) };`, events.Tiers{})
	list := Survey(p, stamp(time.Wednesday))
	if len(list) != 4*2*3 { // tiers × implementer and operator × kinds
		t.Errorf("%d cells, want 24: %+v", len(list), list)
	}
	for _, v := range list {
		if fmt.Sprint(v.Days) != "[Monday Friday]" || v.Row != "effect.dispatched" || fmt.Sprint(v.Policies) != "[f]" {
			t.Errorf("cell %+v", v)
		}
	}
}

// TestUpgrade switches between versions of the rules that a binary may have.
func TestUpgrade(t *testing.T) {
	for _, c := range []struct {
		now, newest, to int64
		code            Code
	}{
		{1, 1, 1, CodeState}, {1, 1, 2, CodeRule}, {1, 3, 2, ""}, {1, 3, 3, ""}, {2, 3, 2, CodeState}, {3, 3, 1, CodeRule}, {3, 3, 4, CodeRule},
	} {
		err := checkUpgrade(c.now, c.newest, &events.Upgrade{Rules: c.to, Reason: "r"})
		refusal, _ := errors.AsType[*Refusal](err)
		if c.code == "" && err != nil || c.code != "" && (refusal == nil || refusal.Code != c.code) {
			t.Errorf("from %d to %d of %d: %v, want %q", c.now, c.to, c.newest, err, c.code)
		}
	}
}
