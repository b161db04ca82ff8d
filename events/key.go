package events

// KeyRotation is the data of key.rotated: from its position on the actor signs
// with Key, and Old signs nothing more. Both keys sign the event; Old, which is
// the actor's until then, is its signkeyid.
type KeyRotation struct {
	Actor string `json:"actor"`
	Old   string `json:"old"` // key id of the key that ends
	Key   string `json:"key"` // public key text of the key that follows it
}

// Type returns KeyRotated.
func (*KeyRotation) Type() Type { return KeyRotated }

// Validate checks k; see [Payload].
func (k *KeyRotation) Validate() error {
	var v validation
	v.actor("actor", k.Actor)
	v.keyID("old", k.Old)
	v.line("key", k.Key, false)
	return v.err
}

// KeyCompromise is the data of key.compromised: somebody else may have used
// the key since a position. From the event's position on the key signs nothing,
// and what it signed at Since or later is suspect. History is not folded again.
type KeyCompromise struct {
	Actor string `json:"actor"` // whose key it is
	Key   string `json:"key"`   // key id
	// Since is the first position at which the key may have been used by
	// somebody else, ≥ 1.
	Since  Position `json:"since"`
	Reason string   `json:"reason"`
}

// Type returns KeyCompromised.
func (*KeyCompromise) Type() Type { return KeyCompromised }

// Validate checks k; see [Payload].
func (k *KeyCompromise) Validate() error {
	var v validation
	v.actor("actor", k.Actor)
	v.keyID("key", k.Key)
	v.that(k.Since >= 1 && k.Since <= maxInt, "since", "%d is not in 1..%d", k.Since, int64(maxInt))
	v.line("reason", k.Reason, false)
	return v.err
}

// keyIDLength is the length of a key id: "SHA256:" and 32 bytes in unpadded
// base64.
const keyIDLength = 50

// keyID checks the form of a key id; which key it is, package signer knows.
func (v *validation) keyID(member, s string) {
	ok := len(s) == keyIDLength && s[:7] == "SHA256:"
	for i := 7; ok && i < len(s); i++ {
		c := s[i]
		ok = c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/'
	}
	v.that(ok, member, "%q is no key id (SHA256: and 43 characters)", clip(s))
}
