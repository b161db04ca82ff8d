package workspace

import "github.com/deedledger/deed/events"

// FactsSchema is the version of the JSON form of [Facts].
const FactsSchema = "deed.capture/v1"

// The precisions of facts.
const (
	PrecisionContent = "content" // git: every tracked file was read and hashed
	PrecisionMtime   = "mtime"   // no git: times and sizes of files, which anybody can set
)

// The answers to a question that a repository may not be able to answer.
const (
	Yes     = "yes"
	No      = "no"
	Unknown = "unknown"
)

// Facts are what the disk said at one time; no model wrote any of it. The JSON form is
// closed. Paths and names of refs are in boundary.EncodePath's form, object ids and
// digests in lower hex, lists in rising byte order unless stated.
type Facts struct {
	Schema     string      `json:"schema"`
	Precision  string      `json:"precision"`
	Top        string      `json:"top"` // absolute folder that the paths are relative to
	Repository *Repository `json:"repository,omitempty"`
	Head       *HeadFacts  `json:"head,omitempty"`
	Target     *Target     `json:"target,omitempty"`
	Base       *BaseFacts  `json:"base,omitempty"`
	// Worktree is what differs from the head; nil without git.
	Worktree *WorktreeFacts `json:"worktree,omitempty"`
	// Recent are the newest files, newest first; only without git.
	Recent []RecentFile `json:"recent,omitempty"`
	// Files counts the tracked files, or without git the files that were found.
	Files  int           `json:"files"`
	Inputs CaptureInputs `json:"inputs"`
	// Notes name what git hides, what could not be read and what was cut.
	Notes []Note `json:"notes,omitempty"`
}

// Repository says which repository and which worktree of it the facts are about.
type Repository struct {
	// ID is equal in all worktrees of one repository and differs in a clone; Workspace
	// differs in each worktree; Project is equal in a clone: the digest of the root commit
	// that HEAD's first parents lead to. Project is "" when that is not known.
	ID        string `json:"id"`
	Workspace string `json:"workspace"`
	Project   string `json:"project,omitzero"`
	GitDir    string `json:"gitDir"`
	CommonDir string `json:"commonDir"`
	// Worktree is "main", or git's own name of a linked worktree.
	Worktree     string   `json:"worktree"`
	Layout       string   `json:"layout"` // "plain", "linked" or "submodule"
	BareMain     bool     `json:"bareMain,omitzero"`
	ObjectFormat string   `json:"objectFormat"`
	Shallow      bool     `json:"shallow,omitzero"`
	Remotes      []Remote `json:"remotes,omitempty"`
	Task         string   `json:"task,omitzero"` // bound to the worktree
	Stashes      int      `json:"stashes"`
	// Operations are in progress: am, bisect, cherry-pick, merge, rebase, revert.
	Operations []string `json:"operations,omitempty"`
}

// Remote is one remote. Its addresses hold no credentials: they were cut out.
type Remote struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Push string `json:"push,omitzero"` // where it differs
}

// HeadFacts are what is checked out.
type HeadFacts struct {
	State    string    `json:"state"` // "branch", "detached" or "unborn"
	Branch   string    `json:"branch,omitzero"`
	Commit   string    `json:"commit,omitzero"`
	Tree     string    `json:"tree,omitzero"`
	Upstream *Upstream `json:"upstream,omitempty"`
	// Pushed says whether a remote-tracking ref contains the commit, as last fetched or
	// pushed from here: nothing was asked over a network. Fetched is when git last
	// fetched here, RFC 3339, "" for not known.
	Pushed  string `json:"pushed"`
	Fetched string `json:"fetched,omitzero"`
}

// Upstream is the branch that the checked out one follows, as last fetched.
type Upstream struct {
	Ref       string `json:"ref"`
	Commit    string `json:"commit,omitzero"` // "" when the ref is gone
	MergeBase string `json:"mergeBase,omitzero"`
	Ahead     int    `json:"ahead"`
	Behind    int    `json:"behind"`
}

// Target is the branch that the work goes to.
type Target struct {
	Ref       string `json:"ref"`
	Commit    string `json:"commit,omitzero"`
	MergeBase string `json:"mergeBase,omitzero"` // of head and target
}

// BaseFacts relate the commit that an attempt started from to what is there now. A base
// that is not on the target was rewritten.
type BaseFacts struct {
	Commit   string `json:"commit"`
	Present  string `json:"present"`
	InHead   string `json:"inHead"`
	OnTarget string `json:"onTarget"`
}

// WorktreeFacts are what differs from the head. A path may be staged and unstaged.
type WorktreeFacts struct {
	Staged     []FileChange     `json:"staged"`   // index against head
	Unstaged   []FileChange     `json:"unstaged"` // content on disk against index
	Untracked  []UntrackedFile  `json:"untracked"`
	Conflicted []string         `json:"conflicted,omitempty"`
	Submodules []SubmoduleFacts `json:"submodules,omitempty"`
}

// FileChange is one path that differs. A rename is two: the old path deleted and the new
// one added, with From where exactly one deleted path has its content.
type FileChange struct {
	Path    string `json:"path"`
	From    string `json:"from,omitzero"`
	Status  string `json:"status"` // A, D, M, or T for another type
	OldMode string `json:"oldMode"`
	NewMode string `json:"newMode"`
	OldID   string `json:"oldId,omitzero"`
	NewID   string `json:"newId,omitzero"` // "" when it is no file, link or repository
	// Flag is "assume-unchanged" or "skip-worktree": git says that nothing changed.
	Flag string `json:"flag,omitzero"`
}

// UntrackedFile is neither tracked nor ignored. A nested repository ends with a slash.
type UntrackedFile struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
	ID   string `json:"id,omitzero"` // of the bytes as they are; "" for large or odd files
}

// SubmoduleFacts are one submodule's pointers: in head, in the index, and what is
// checked out in its folder.
type SubmoduleFacts struct {
	Path    string `json:"path"`
	Head    string `json:"head,omitzero"`
	Index   string `json:"index,omitzero"`
	Disk    string `json:"disk,omitzero"` // "" for not checked out
	Changed int    `json:"changed"`       // uncommitted paths inside
}

// RecentFile is a file by its time and size.
type RecentFile struct {
	Path     string `json:"path"`
	Modified string `json:"modified"` // RFC 3339 with nanoseconds, UTC
	Bytes    int64  `json:"bytes"`
}

// CaptureInputs are what the work depends on, in the words of events.Inputs.
type CaptureInputs struct {
	Commit       string              `json:"commit,omitzero"` // whose tree was read; "" for the disk
	Lockfiles    []events.PinnedFile `json:"lockfiles,omitempty"`
	LockDigest   string              `json:"lockDigest,omitzero"`
	Tools        []events.Tool       `json:"tools,omitempty"`
	Skills       []events.Tool       `json:"skills,omitempty"`
	Flags        []string            `json:"flags,omitempty"`
	Schema       string              `json:"schema,omitzero"`
	Image        string              `json:"image,omitzero"`
	Model        string              `json:"model,omitzero"`
	PromptDigest string              `json:"promptDigest,omitzero"`
	// Capabilities were found by a probe; Missing were not.
	Capabilities []string `json:"capabilities,omitempty"`
	Missing      []string `json:"missing,omitempty"`
	// PolicyCommit is whose policy files count; Policy are their digests.
	PolicyCommit string              `json:"policyCommit,omitzero"`
	Policy       []events.PinnedFile `json:"policy,omitempty"`
	Boundary     string              `json:"boundary,omitzero"`
}

// Note is one named fact about what the other facts cannot show.
type Note struct {
	Code  string   `json:"code"`
	Text  string   `json:"text"`
	Paths []string `json:"paths,omitempty"` // at most [MaxNotePaths]
	Count int      `json:"count,omitzero"`  // of all paths
}
