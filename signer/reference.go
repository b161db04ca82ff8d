package signer

import (
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxReferenceBytes bounds a key reference.
	MaxReferenceBytes = 512
	// maxPluginName bounds the name of a plugin.
	maxPluginName    = 32
	referenceMarker  = "deed-key-reference-v1 "
	referenceDivider = "://"
)

var (
	// ErrReference means that a text is no key reference.
	ErrReference = errors.New("not a key reference")
	// ErrIsReference means that a key file holds a reference and no key: read it
	// with ReadReferenceFile.
	ErrIsReference = errors.New("key file holds a reference")
)

// Reference names a key that a plugin holds, in sigstore's form NAME://KEY: the
// program is sigstore-kms-NAME, and what KEY means is the plugin's matter. The
// zero Reference names nothing.
type Reference struct{ plugin, resource string }

// ParseReference parses NAME://KEY: NAME is [a-z0-9][a-z0-9-]{0,31}, KEY is
// printable ASCII without space and may be empty. Its errors wrap ErrReference.
func ParseReference(s string) (Reference, error) {
	plugin, resource, found := strings.Cut(s, referenceDivider)
	if !found || len(s) > MaxReferenceBytes {
		return Reference{}, fmt.Errorf("parse key reference: %w: want NAME://KEY of at most %d bytes", ErrReference, MaxReferenceBytes)
	}
	if !validPlugin(plugin) {
		return Reference{}, fmt.Errorf("parse key reference: %w: plugin %+q, want [a-z0-9][a-z0-9-]{0,%d}", ErrReference, plugin, maxPluginName-1)
	}
	for _, c := range []byte(resource) {
		if c <= ' ' || c > '~' {
			return Reference{}, fmt.Errorf("parse key reference: %w: character %+q", ErrReference, c)
		}
	}
	return Reference{plugin: plugin, resource: resource}, nil
}

func validPlugin(name string) bool {
	if name == "" || len(name) > maxPluginName || name[0] == '-' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// String returns what ParseReference parsed, empty for the zero Reference.
func (r Reference) String() string {
	if r.plugin == "" {
		return ""
	}
	return r.plugin + referenceDivider + r.resource
}

// Program returns the name of the plugin's program.
func (r Reference) Program() string { return "sigstore-kms-" + r.plugin }

// WriteReferenceFile writes a reference to a new file at path, mode 0600, where
// a private key would lie, and the public key that the plugin named as PKIX PEM
// to PublicKeyPath(path). From then on that key is what the reference stands for:
// a plugin that signs with another one is caught. Files are never replaced, as
// with WriteKeyFile. It returns ErrReference or ErrPublicKey for zero values.
func WriteReferenceFile(path string, ref Reference, public PublicKey) error {
	if ref == (Reference{}) {
		return fmt.Errorf("write key reference: %w: none", ErrReference)
	}
	pem, err := public.PEM()
	if err != nil {
		return fmt.Errorf("write key reference: %w", err)
	}
	if err := writePair(path, []byte(referenceMarker+ref.String()+"\n"), pem); err != nil {
		return fmt.Errorf("write key reference: %w", err)
	}
	return nil
}

// ReadReferenceFile reads the reference at path and the public key beside it. No
// plugin is asked. It returns ErrKeyFileMode as ReadKeyFile does, ErrKeyFile for
// a file without a reference in its one spelling, and the errors of
// ReadPublicKeyFile.
func ReadReferenceFile(path string) (Reference, PublicKey, error) {
	text, err := readPrivate(path)
	if err != nil {
		return Reference{}, PublicKey{}, fmt.Errorf("read key reference: %w", err)
	}
	line, marked := strings.CutPrefix(string(text), referenceMarker)
	ref, err := ParseReference(strings.TrimSuffix(line, "\n"))
	if err != nil || !marked || referenceMarker+ref.String()+"\n" != string(text) {
		return Reference{}, PublicKey{}, fmt.Errorf("read key reference %q: %w: want one line with a key reference", path, ErrKeyFile)
	}
	public, err := ReadPublicKeyFile(PublicKeyPath(path))
	if err != nil {
		return Reference{}, PublicKey{}, err
	}
	return ref, public, nil
}
