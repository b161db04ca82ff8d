package events

// Kind says what sort of key holder an actor is.
type Kind string

// The kinds of actors.
const (
	KindAgent   Kind = "agent"
	KindCI      Kind = "ci"
	KindHuman   Kind = "human"
	KindService Kind = "service"
)

// AuthType returns the value that the authtype attribute of this kind's
// events must have (CloudEvents auth context extension).
func (k Kind) AuthType() string {
	switch k {
	case KindHuman:
		return "user"
	case KindService:
		return "system"
	}
	return "service_account"
}

// Role is what an actor may be asked to do.
type Role string

// The roles that an actor can be given.
const (
	RoleAdmin       Role = "admin"
	RoleOwner       Role = "owner"
	RoleCompiler    Role = "compiler"
	RolePlanner     Role = "planner"
	RoleImplementer Role = "implementer"
	RoleVerifier    Role = "verifier"
	RoleController  Role = "controller"
	RoleReviewer    Role = "reviewer"
	RoleOperator    Role = "operator"
	RoleAuditor     Role = "auditor"
	RoleService     Role = "service"
)

// Roles returns every role in the order of the constants.
func Roles() []Role {
	return []Role{RoleAdmin, RoleOwner, RoleCompiler, RolePlanner, RoleImplementer, RoleVerifier, RoleController, RoleReviewer, RoleOperator, RoleAuditor, RoleService}
}

// Rules is the newest version of the rules that this binary knows. From 2 on
// commits by identities that nobody mapped need a second reviewer, and an
// approval by the principal of whoever did the work says so. From 3 on a
// contract's excludes and the protected paths hold in every spelling of a name,
// more paths are protected, and an effect needs the approvals that its attempt
// pinned.
const Rules = 3

// Admin is a founder named in a genesis event; always of kind human.
type Admin struct {
	Actor     string `json:"actor"`
	Principal string `json:"principal"`
	Key       string `json:"key"` // public key text, see package signer
	Roles     []Role `json:"roles"`
}

// ServiceKey names the key of the ledger's service.
type ServiceKey struct {
	Actor string `json:"actor"`
	Key   string `json:"key"`
}

// Genesis is the data of ledger.created, the first event of a ledger.
type Genesis struct {
	Name      string     `json:"name"`
	Rules     int64      `json:"rules"`
	Profile   string     `json:"profile"` // "separate" or "solo"
	Threshold int64      `json:"threshold"`
	Admins    []Admin    `json:"admins"`
	Service   ServiceKey `json:"service"`
	Policy    string     `json:"policy,omitzero"`
}

// Type returns LedgerCreated.
func (*Genesis) Type() Type { return LedgerCreated }

// Validate checks g; see [Payload].
func (g *Genesis) Validate() error {
	var v validation
	v.that(ValidLedger(g.Name), "name", "%q is no ledger name ([a-z0-9][a-z0-9-]{0,31})", clip(g.Name))
	v.number("rules", g.Rules, 1, Rules)
	v.oneOf("profile", g.Profile, "separate", "solo")
	v.count("admins", len(g.Admins), 1, 8)
	v.number("threshold", g.Threshold, 1, int64(max(1, len(g.Admins))))
	var names, keys []string
	for i, a := range g.Admins {
		v.within(index("admins", i), a.validate)
		names, keys = append(names, a.Actor), append(keys, a.Key)
	}
	v.actor("service.actor", g.Service.Actor)
	v.line("service.key", g.Service.Key, false)
	v.sorted("admins", names)
	v.unique("actors", append(names, g.Service.Actor))
	v.unique("keys", append(keys, g.Service.Key))
	v.text("policy", g.Policy, 16<<10)
	return v.err
}

func (a Admin) validate(v *validation) {
	v.actor("actor", a.Actor)
	v.actor("principal", a.Principal)
	v.line("key", a.Key, false)
	validRoles(v, a.Roles)
	admin := false
	for _, r := range a.Roles {
		admin = admin || r == RoleAdmin
	}
	v.that(admin, "roles", "a founder must have the role admin")
}

// validRoles checks a sorted, non-empty list of roles that an actor can hold.
func validRoles(v *validation, roles []Role) {
	v.count("roles", len(roles), 1, 16)
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
		v.oneOf(index("roles", i), names[i], "admin", "owner", "compiler", "planner", "implementer", "verifier", "controller", "reviewer", "operator", "auditor")
	}
	v.sorted("roles", names)
}

// Invitation is the data of actor.invited: a name, what it may do, and the
// digest of the one-time token that lets a new key claim it. Without a token it
// amends an actor that has a key: it adds git identities, or bounds how long
// the actor is valid.
type Invitation struct {
	Actor     string `json:"actor"`
	Kind      Kind   `json:"kind"`
	Principal string `json:"principal"`
	Roles     []Role `json:"roles"`
	// GitIdentities are the e-mail addresses under which the actor commits.
	GitIdentities []string `json:"gitIdentities,omitempty"`
	// TokenHash is the SHA-256 of the token's text, "" to amend an actor.
	TokenHash string `json:"tokenHash,omitzero"`
	// Expires is when the invitation ends, by time of admission.
	Expires string `json:"expires,omitzero"`
	// ValidUntil is when the actor ends, by time of admission: from then on
	// the service revokes it.
	ValidUntil string `json:"validUntil,omitzero"`
}

// Type returns ActorInvited.
func (*Invitation) Type() Type { return ActorInvited }

// Validate checks i; see [Payload].
func (i *Invitation) Validate() error {
	var v validation
	v.actor("actor", i.Actor)
	v.oneOf("kind", string(i.Kind), "agent", "ci", "human")
	v.actor("principal", i.Principal)
	validRoles(&v, i.Roles)
	v.lines("gitIdentities", i.GitIdentities, 16)
	v.sorted("gitIdentities", i.GitIdentities)
	v.digest("tokenHash", i.TokenHash, true)
	v.when("expires", i.Expires)
	v.when("validUntil", i.ValidUntil)
	v.that(i.TokenHash != "" || i.Expires == "", "expires", "ends an invitation, and without tokenHash there is none")
	return v.err
}

// KeyClaim is the data of key.claimed: a new key, signed by itself, shows the
// invitation's token.
type KeyClaim struct {
	Actor string `json:"actor"`
	Key   string `json:"key"`
	Token string `json:"token"`
}

// Type returns KeyClaimed.
func (*KeyClaim) Type() Type { return KeyClaimed }

// Validate checks k; see [Payload].
func (k *KeyClaim) Validate() error {
	var v validation
	v.actor("actor", k.Actor)
	v.line("key", k.Key, false)
	v.line("token", k.Token, false)
	return v.err
}

// ReasonExpiry is the reason with which the service, and nobody else, revokes
// an actor whose time is over.
const ReasonExpiry = "expiry"

// Revocation is the data of actor.revoked: from its position on, no key of
// the actor signs anything.
type Revocation struct {
	Actor  string `json:"actor"`
	Reason string `json:"reason"`
}

// Type returns ActorRevoked.
func (*Revocation) Type() Type { return ActorRevoked }

// Validate checks r; see [Payload].
func (r *Revocation) Validate() error {
	var v validation
	v.actor("actor", r.Actor)
	v.line("reason", r.Reason, false)
	return v.err
}
