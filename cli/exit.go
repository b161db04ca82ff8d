package cli

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/schemas"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
	"github.com/deedledger/deed/workspace"
	"github.com/deedledger/deed/workspace/delivery"
	"github.com/deedledger/deed/workspace/guard"
	"github.com/deedledger/deed/workspace/workflow"
)

// The exit codes. Scripts and hooks branch on them.
const (
	ExitDone        = 0
	ExitFatal       = 1 // a fatal finding: do not start
	ExitUsage       = 2
	ExitUnavailable = 3 // retry
	ExitRefused     = 4
	ExitNotFound    = 5
	ExitConflict    = 6
	ExitState       = 7 // illegal in this state
	ExitPending     = 8
	ExitIntegrity   = 10
	ExitStale       = 20
	ExitEffect      = 21 // an effect's outcome is unknown
	ExitBoundary    = 22
	ExitSecret      = 23
	ExitTimeout     = 124
)

// outcome is an exit code and what to do next.
type outcome struct {
	exit int
	hint string
}

// refusals maps the code of a refusal. Read-only.
var refusals = map[ledger.Code]outcome{
	ledger.CodeForm:      {ExitUsage, "see deed event schema for what an event may hold"},
	ledger.CodeSignature: {ExitIntegrity, "check which key you sign with: deed key show, deed actor list"},
	ledger.CodeRule:      {ExitRefused, "deed why TASK names who may do what now"},
	ledger.CodeState:     {ExitState, "deed why TASK names what is legal now"},
	ledger.CodeStale:     {ExitStale, "look again, and decide again: deed why TASK says what leads on"},
	ledger.CodeEffect:    {ExitEffect, "see deed effect list TASK; a person settles what nobody can know: deed effect settle"},
	ledger.CodeBoundary:  {ExitBoundary, "keep the change inside the contract's scope, or propose a wider contract"},
	ledger.CodeNotFound:  {ExitNotFound, "check the name: deed task list, deed actor list"},
	ledger.CodeHead:      {ExitConflict, "somebody was faster: read the task again and decide again"},
	ledger.CodeFence:     {ExitRefused, "your lease is gone: stop, and look at deed task show TASK"},
	ledger.CodeLimit:     {ExitRefused, "make it smaller: large things are kept outside and named by digest"},
	ledger.CodeDamage:    {ExitIntegrity, "history is damaged: deed audit verify; append nothing"},
	ledger.CodeSecret:    {ExitSecret, "take it out and rotate it, as it was on the way here; deed secret find FILE names the lines"},
	ledger.CodeBusy:      {ExitUnavailable, "try again; the same event is never written twice"},
}

// sentinels maps errors that are no refusals, first match wins. Read-only.
var sentinels = []struct {
	is error
	outcome
}{
	{errUsage, outcome{ExitUsage, ""}},
	{errAudit, outcome{ExitIntegrity, "append nothing; compare with a copy or another auditor's head"}},
	{errPromise, outcome{ExitFatal, "keep the folder with --keep and read its log"}},
	{errEffect, outcome{ExitEffect, "see deed effect list TASK; a person settles it: deed effect settle"}},
	{errNotApplied, outcome{ExitUnavailable, "nothing was applied: the same command may try again"}},
	{errUnwell, outcome{ExitFatal, ""}},
	{errStart, outcome{ExitFatal, "deed why TASK says what has to happen first"}},
	{errNoPass, outcome{ExitFatal, ""}},
	{errCheck, outcome{ExitFatal, "the receipt is recorded; deed task show TASK has it, deed why TASK says who repairs"}},
	{errGuard, outcome{ExitFatal, ""}},
	{errClaim, outcome{ExitFatal, ""}},
	{workflow.ErrSpec, outcome{ExitUsage, "docs/workflow.md says how a spec is written"}},
	{workflow.ErrState, outcome{ExitUsage, "docs/workflow.md says what a state holds"}},
	{workflow.ErrChecks, outcome{ExitUsage, ""}},
	{workflow.ErrTask, outcome{ExitUsage, ""}},
	{workflow.ErrBundle, outcome{ExitIntegrity, ""}},
	{errCheckFailed, outcome{ExitFatal, ""}},
	{delivery.ErrDraft, outcome{ExitUsage, "docs/delivery.md says what the file holds"}},
	{guard.ErrClaims, outcome{ExitUsage, "deed guard --help says what the task file holds"}},
	{guard.ErrSnapshot, outcome{ExitIntegrity, "capture again: deed guard capture"}},
	{guard.ErrAcknowledged, outcome{ExitIntegrity, "remove the file, look again, and say so: deed guard acknowledge"}},
	{errPending, outcome{ExitPending, "deed why TASK names who it waits for"}},
	{errMissing, outcome{ExitNotFound, ""}},
	{errNoService, outcome{ExitUnavailable, "start one with: deed up"}},
	{client.ErrNotReached, outcome{ExitTimeout, "is it a position of this ledger? deed status names its last one"}},
	{journal.ErrUnavailable, outcome{ExitUnavailable, "try again"}},
	{errWaited, outcome{ExitTimeout, ""}},
	{context.DeadlineExceeded, outcome{ExitTimeout, "try again with more time"}},
	{context.Canceled, outcome{ExitUnavailable, "it was interrupted: try again"}},
	{server.ErrNoLedger, outcome{ExitNotFound, "create one with: deed ledger create NAME --admin ACTOR"}},
	{server.ErrLedgerExists, outcome{ExitState, "choose another folder with --dir"}},
	{server.ErrNotPrepared, outcome{ExitState, "run it where --genesis-out was, with the same --dir"}},
	{server.ErrOtherLedger, outcome{ExitIntegrity, "the folder's files do not belong together"}},
	{server.ErrNotExternal, outcome{ExitState, "a ledger stays where it was created"}},
	{client.ErrAccess, outcome{ExitUsage, ""}},
	{journal.ErrUnavailable, outcome{ExitUnavailable, "NATS does not answer: is it running, and does this account have JetStream?"}},
	{journal.ErrExists, outcome{ExitState, "a stream of that name is there: choose another name, or serve it with copies of its ledger.json and service.key"}},
	{server.ErrRemote, outcome{ExitState, "start and stop it on the machine that holds its folder"}},
	{client.ErrArtifact, outcome{ExitIntegrity, "put the bytes again from a copy: deed artifact put FILE"}},
	{client.ErrJoinToken, outcome{ExitUsage, "take the whole line that deed actor invite printed"}},
	{server.ErrNotRunning, outcome{ExitUnavailable, "start one with: deed up"}},
	{embedded.ErrInUse, outcome{ExitUnavailable, "a service runs on this folder already: deed status"}},
	{evidence.ErrRollback, outcome{ExitIntegrity, "the ledger is shorter than what was acknowledged: deed audit verify"}},
	{evidence.ErrForked, outcome{ExitIntegrity, "the ledger is not the one that was acknowledged: deed audit verify"}},
	{evidence.ErrHeadSignature, outcome{ExitIntegrity, ""}},
	{evidence.ErrHeadForm, outcome{ExitIntegrity, ""}},
	{evidence.ErrHeadOrigin, outcome{ExitIntegrity, "the service serves another ledger"}},
	{evidence.ErrProof, outcome{ExitIntegrity, ""}},
	{errNotAttested, outcome{ExitIntegrity, "ask its verifier for the attestation of this attempt: deed receipt run TASK --attestation FILE"}},
	{signer.ErrSignature, outcome{ExitIntegrity, ""}},
	{signer.ErrPassphrase, outcome{ExitRefused, "give it with --passphrase-file"}},
	{signer.ErrKeyFileMode, outcome{ExitRefused, "chmod 600 the key file"}},
	{events.ErrData, outcome{ExitUsage, "see deed event schema TYPE"}},
	{schemas.ErrInvalid, outcome{ExitUsage, "deed event schema TYPE says what the data may hold"}},
	{schemas.ErrUnknown, outcome{ExitUsage, "deed event schema lists the types"}},
	{events.ErrForm, outcome{ExitUsage, ""}},
	{events.ErrAmbiguous, outcome{ExitUsage, ""}},
	{events.ErrUnknownType, outcome{ExitUsage, "deed event schema lists the types"}},
	{journal.ErrCorrupt, outcome{ExitIntegrity, "deed audit verify names the first bad event"}},
	{evidence.ErrHeadLog, outcome{ExitIntegrity, "the file of retained heads is damaged: keep it, it is evidence"}},
	{fs.ErrExist, outcome{ExitState, "choose another name: a file that holds a key is never replaced"}},
	{boundary.ErrPolicy, outcome{ExitBoundary, "the policy allows nothing until it is mended on the target: deed boundary lint --file FILE tells when it is"}},
	{workspace.ErrNotRepository, outcome{ExitNotFound, "run it in a worktree of the task's git repository"}},
	{workspace.ErrBareRepository, outcome{ExitNotFound, "run it in a worktree of the task's git repository"}},
	{workspace.ErrNoWorktree, outcome{ExitNotFound, "run it in a worktree of the task's git repository"}},
	{errProbe, outcome{ExitRefused, "mend the command, or take it out of .agent-delivery/policy/capture.yaml on the target branch"}},
	{workspace.ErrCapturePolicy, outcome{ExitRefused, "docs/capture.md says what the policy holds"}},
	{workspace.ErrSkill, outcome{ExitRefused, "a skill is a folder with a SKILL.md and files of its own"}},
	{workspace.ErrLink, outcome{ExitRefused, "no link is followed there: put a file or folder of its own in its place"}},
	{workspace.ErrTooMuch, outcome{ExitRefused, ""}},
	{workspace.ErrForeignOwner, outcome{ExitRefused, "work in a clone of your own"}},
	{workspace.ErrUnborn, outcome{ExitNotFound, "commit something first"}},
	{workspace.ErrUnknownRevision, outcome{ExitNotFound, "check the name, or fetch it"}},
	{workspace.ErrMissingObject, outcome{ExitNotFound, "fetch it"}},
	{workspace.ErrHistoryIncomplete, outcome{ExitRefused, "a shallow clone cannot tell: git fetch --unshallow"}},
	{workspace.ErrNoMergeBase, outcome{ExitRefused, "is this the task's repository?"}},
	{fs.ErrNotExist, outcome{ExitNotFound, ""}},
	{exec.ErrNotFound, outcome{ExitNotFound, "install the program, or set PATH"}},
	{signer.ErrPlugin, outcome{ExitUnavailable, "run the plugin's own tool to see what is wrong; nothing was signed"}},
}

// Errors that commands return themselves.
var (
	errUsage   = errors.New("usage")
	errAudit   = errors.New("audit failed")
	errPromise = errors.New("a promise is broken")
	errEffect  = errors.New("effect is not settled")
	errCheck   = errors.New("a check failed")
	errGuard   = errors.New("do not start")
	errClaim   = errors.New("a claim is not what git says")
	errUnwell  = errors.New("something is wrong here")
	errWaited  = errors.New("not reached in time")
	// errStart says that nobody may go on with a task before a person or a
	// controller has looked at it.
	errStart   = errors.New("do not start")
	errPending = errors.New("pending")
	// errNotApplied says that a call is proven to have changed nothing.
	errNotApplied = errors.New("nothing was applied")
	errMissing    = errors.New("not found")
	errNoService  = errors.New("no service runs and none is configured")
)

// classify returns the exit code and hint of an error: what it says itself
// before what the tables say.
func classify(err error) outcome {
	o := tabled(err)
	if h, ok := errors.AsType[hinted](err); ok {
		o.hint = h.hint
	}
	if a, ok := errors.AsType[about](err); ok {
		o.hint = a.fill(o.hint)
	}
	return o
}

// tabled returns what the tables say of an error.
func tabled(err error) outcome {
	if err == nil {
		return outcome{ExitDone, ""}
	}
	if r, ok := errors.AsType[*ledger.Refusal](err); ok {
		if r.Class == ledger.Unavailable {
			return outcome{ExitUnavailable, "is a service running? deed status, deed up"}
		}
		if o, ok := refusals[r.Code]; ok {
			return o
		}
	}
	if c, ok := errors.AsType[*childError](err); ok {
		return outcome{c.exit, "see its log above; deed serve shows it as it comes"}
	}
	for _, s := range sentinels {
		if errors.Is(err, s.is) {
			return s.outcome
		}
	}
	return outcome{ExitUsage, ""}
}
