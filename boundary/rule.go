package boundary

// Rule names why a change is out of boundary.
type Rule string

// The rules, in the order in which one change is held against them.
const (
	RuleMalformedPath Rule = "malformed-path"       // the path has a segment that no file can have
	RuleProtected     Rule = "protected"            // a protected pattern matches
	RuleExcluded      Rule = "excluded"             // an exclude pattern matches
	RuleOutside       Rule = "outside"              // no include pattern matches
	RulePinned        Rule = "pinned"               // the file belongs to a pinned check
	RuleSubmodule     Rule = "submodule"            // the entry names a commit of another repository
	RuleLink          Rule = "link-leaves-boundary" // the link's target lies outside
)
