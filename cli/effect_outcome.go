package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
)

// finding is what is known of one part of an effect after a call or a probe.
type finding struct {
	part string
	// status is confirmed, failed, unknown or conflict.
	status     projections.Status
	try        int64
	externalID string
	token      string
	basis      events.Basis
	evidence   string
}

// evidenceLimit bounds the text of an outcome, in characters: well below
// events.MaxText bytes in any script.
const evidenceLimit = 900

// payload returns the event that records f.
func (f finding) payload(key string) events.Payload {
	text := projections.Plain(f.evidence, evidenceLimit)
	switch f.status {
	case projections.StatusConfirmed:
		return &events.Confirmation{Key: key, Try: f.try, Part: f.part, ExternalID: f.externalID, Token: f.token, Basis: f.basis, Evidence: text}
	case projections.StatusFailed:
		return &events.Failure{Key: key, Try: f.try, Part: f.part, Basis: f.basis, Evidence: text}
	}
	return &events.Unknown{Key: key, Try: f.try, Part: f.part, Conflict: f.status == projections.StatusConflict, Reason: text}
}

// conclusive reports whether f says more than that nobody knows.
func (f finding) conclusive() bool { return f.status != projections.StatusUnknown }

// lockPath returns where the lock of an effect lies: in the git folder that
// all worktrees of a repository share. The name is a digest, since a key may
// hold any printable character.
func lockPath(repo *workspace.Repo, key string) (string, error) {
	dir := filepath.Join(repo.CommonDir(), "deed", "effects")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make folder for effect locks: %w", err)
	}
	return filepath.Join(dir, events.Sum([]byte(key)).String()+".lock"), nil
}

// callDead reports whether it is proven here that no process of the newest
// try is left. Older tries are settled: the ledger dispatches no other before.
func (s *session) callDead(repo *workspace.Repo, e *projections.Effect) bool {
	path, err := lockPath(repo, e.Intent.Key)
	if err != nil || len(e.Tries) == 0 {
		return false
	}
	here, err := runner.Here()
	newest := e.Tries[len(e.Tries)-1]
	if err != nil || newest.Host != s.env.Host || newest.Boot != here.Boot {
		return false
	}
	lock, err := runner.ReadLock(path, e.Intent.Key)
	return err == nil && lock.CallDead()
}

// question is what a probe is asked.
type question struct {
	part string
	// fence is the task's newest one. A provider that refuses old fences is
	// shown it, and knows from then on that older runs are over.
	fence uint64
	limit time.Duration
}

// probe asks the effect's own probe about one part of its newest try and
// weighs the answer.
func (s *session) probe(ctx context.Context, repo *workspace.Repo, e *projections.Effect, q question) finding {
	part := q.part
	newest := e.Tries[len(e.Tries)-1]
	f := finding{part: part, status: projections.StatusUnknown, try: e.Part(part).Try, token: newest.Token, basis: events.BasisProbe}
	// The old call is looked at before the question: a call that ends in
	// between cannot make an absence out of its own effect.
	dead := s.callDead(repo, e)
	shown := newest.Fence
	if e.Intent.Provider == events.ProviderFences {
		shown = max(shown, q.fence)
	}
	answer := s.ask(ctx, repo, e, question{part, shown, q.limit})
	evidence := runner.Evidence{
		Digest: e.Intent.PayloadDigest, Probe: answer, CallDead: dead,
		// A later try has a later fence, or the same one. A branch moves once
		// from the commit that all tries name, whichever of them comes first.
		Dedupes: e.Intent.Provider == events.ProviderDedupes, Fenced: shown > newest.Fence || e.Intent.Git != nil,
	}
	for _, t := range e.Tries {
		evidence.Tokens = append(evidence.Tokens, t.Token)
		if t.Token == answer.Token {
			f.token, f.try = t.Token, t.Number
		}
	}
	verdict, rule := runner.Judge(evidence)
	f.evidence = fmt.Sprintf("probe at %s: %s by rule %s: %s", events.FormatTime(s.env.Now()), verdict, rule, strings.TrimSpace(answer.Reason+" "+answer.Output.Window()))
	switch verdict {
	case runner.EffectConfirmed:
		f.status, f.externalID = projections.StatusConfirmed, answer.ExternalID
	case runner.EffectAbsentProven:
		f.status = projections.StatusFailed
	case runner.EffectConflict:
		f.status, f.try = projections.StatusConflict, e.Part(part).Try
	case runner.EffectUnknown:
	}
	return f
}

// ask asks git about an effect that moves a branch, and the effect's own probe
// about any other. The fence of the question is the one that is shown.
func (s *session) ask(ctx context.Context, repo *workspace.Repo, e *projections.Effect, q question) runner.ProbeResult {
	if e.Intent.Git != nil {
		ctx, cancel := context.WithTimeout(ctx, q.limit)
		defer cancel()
		return s.askBranch(ctx, repo, e)
	}
	return runner.RunProbe(ctx, runner.EffectCall{
		Key: e.Intent.Key, Fence: fmt.Sprint(q.fence), Token: e.Tries[len(e.Tries)-1].Token, Command: e.Intent.Probe,
		Dir: repo.Top(), Timeout: q.limit, Env: append(s.childEnv(), effectEnv(e.Intent, q.part)...),
	})
}

// effectEnv returns what a call and a probe are told beyond key, fence and
// token.
func effectEnv(d events.Intent, part string) []string {
	env := []string{
		"DEED_EFFECT_KIND=" + string(d.Kind), "DEED_EFFECT_TARGET=" + d.Target,
		"DEED_EFFECT_COMMIT=" + d.Commit, "DEED_PAYLOAD_DIGEST=" + d.PayloadDigest,
	}
	if part != "" {
		env = append(env, "DEED_EFFECT_PART="+part)
	}
	if d.Compensates != "" {
		env = append(env, "DEED_COMPENSATES="+d.Compensates)
	}
	return env
}

// errKnown says that an outcome adds nothing to what the ledger knows.
var errKnown = errors.New("the outcome is recorded already")

// recordOutcome appends what is known of one part. A run that made the call
// gives its fence, live or not; whoever only asked gives 0. When the ledger
// knows as much already nothing is written.
func (s *session) recordOutcome(ctx context.Context, task, key string, f finding, fence uint64) error {
	_, err := s.recordFact(ctx, task, key, f, fence)
	return err
}

// recordFact does what recordOutcome does and returns what it recorded: a
// confirmation by an id that belongs to another effect is a conflict. Somebody
// gave us that id, so that nobody knows what became of ours.
func (s *session) recordFact(ctx context.Context, task, key string, f finding, fence uint64) (finding, error) {
	// What a provider says can hold a token. Without it the id is the same in each answer, and the outcome is not lost.
	f.externalID, f.evidence = s.clean(f.externalID), s.clean(f.evidence)
	_, err := s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
		e := state.Task.Effect(key)
		if e == nil || e.Part(f.part) == nil {
			return draft{}, fmt.Errorf("%w: task %s has no effect with key %q and part %q", errMissing, task, key, f.part)
		}
		if known(e.Part(f.part), f) {
			return draft{}, errKnown
		}
		return draft{payload: f.payload(key), fence: fence, subject: e.Attempt}, nil
	})
	r, refused := errors.AsType[*ledger.Refusal](err)
	switch {
	case errors.Is(err, errKnown):
		return f, nil
	case refused && r.Rule == ruleForeignID && f.status == projections.StatusConfirmed:
		f.status, f.evidence = projections.StatusConflict, r.Text+"; "+f.evidence
		return s.recordFact(ctx, task, key, f, fence)
	}
	return f, err
}

// ruleForeignID is the ledger's rule that an outside id belongs to one effect.
const ruleForeignID = "effect.confirmed/external-id"

// known reports whether a part's status says at least what f does.
func known(p *projections.Part, f finding) bool {
	switch p.Status {
	case projections.StatusConfirmed:
		return f.status != projections.StatusConfirmed || f.externalID == p.ExternalID
	case projections.StatusFailed, projections.StatusUnknown, projections.StatusConflict:
		return f.status == p.Status || f.status == projections.StatusUnknown
	case projections.StatusCompensated:
		return true
	}
	return false
}

// judgeCall says what a call's end proves of each part. What it says of itself
// counts first, for an effect without parts; then a probe is asked, where
// there is one and asking is still allowed. An exit status proves nothing.
func (s *session) judgeCall(ctx context.Context, c *call, e *projections.Effect, end ending) []finding {
	newest := e.Tries[len(e.Tries)-1]
	var found []finding
	for _, p := range e.Parts {
		if p.Status != projections.StatusDispatched {
			continue
		}
		f := finding{part: p.Name, try: newest.Number, token: newest.Token, basis: events.BasisReply, status: projections.StatusUnknown}
		switch {
		case end.notStarted != nil:
			f.status, f.evidence = projections.StatusFailed, "the call was never started: "+end.notStarted.Error()
		case p.Name == "" && end.claims(newest.Token):
			f.take(end.out.Reply, e.Intent.PayloadDigest)
		case probed(e) && !end.lost:
			f = s.probe(ctx, c.repo, e, question{p.Name, newest.Fence, c.timeout})
			f.evidence = end.text() + "; " + f.evidence
		default:
			f.evidence = end.text() + "; no reply that carries our token, and no probe that could be asked"
		}
		found = append(found, f)
	}
	return found
}

// take believes a reply that carries our token, unless it names another
// digest than that of what we applied.
func (f *finding) take(r *runner.EffectReply, payload string) {
	f.externalID = r.ExternalID
	f.evidence = fmt.Sprintf("the call replied: id %s, our token, digest %q", r.ExternalID, r.Digest)
	f.status = projections.StatusConfirmed
	if r.Digest != "" && r.Digest != payload {
		f.status = projections.StatusConflict
	}
}

// ending is how a call ended.
type ending struct {
	out runner.EffectOutcome
	// notStarted is why nothing was called.
	notStarted error
	// lost says that the lease was lost meanwhile.
	lost bool
	// overtaken says that another run has made a later try meanwhile: what a
	// probe finds now may be that one's, and is not for this run to judge.
	overtaken bool
}

// claims reports whether the call left a reply with an id and this token.
func (e ending) claims(token string) bool {
	return e.out.Reply != nil && e.out.Reply.ExternalID != "" && e.out.Reply.Token == token
}

// text says in one line how the call ended.
func (e ending) text() string {
	text := fmt.Sprintf("the call ended with exit status %d after %s", e.out.ExitCode, e.out.Duration.Round(time.Millisecond))
	switch {
	case e.lost:
		text += ", stopped because the lease was lost"
	case e.out.TimedOut:
		text += ", stopped at its time limit"
	case e.out.Signal != "":
		text += ", killed by " + e.out.Signal
	}
	if e.out.Survivors {
		text += "; something that it started still runs"
	}
	if e.out.ReplyErr != nil {
		text += "; its reply is not of the agreed form"
	}
	return text
}
