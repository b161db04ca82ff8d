package signer

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/kms/cliplugin/common"
)

const (
	// pluginTime is how long a plugin has when nobody says otherwise: a person may
	// have to touch a device.
	pluginTime = time.Minute
	// pluginAnswer bounds what a plugin prints, in bytes; the rest of what it says
	// on stderr is dropped.
	pluginAnswer = 64 << 10
	// pluginTail is how much of a plugin's words an error repeats, in bytes.
	pluginTail = 256
	// pluginRest is how long a plugin's children may hold its output open.
	pluginRest = 2 * time.Second
)

// ErrPlugin means that a key plugin is missing, failed, took too long, or
// answered what is no answer. A program that is missing gives exec.ErrNotFound
// beside it, too long a time context.DeadlineExceeded. A plugin that signs
// wrongly gives ErrSignature alone.
var ErrPlugin = errors.New("key plugin failed")

// Plugins runs key plugins: programs sigstore-kms-NAME on PATH that speak version
// 1 of sigstore's protocol. sigstore's own client is not used: it hands a
// plugin's stderr to the terminal as it is, and panics at an empty answer.
type Plugins struct {
	// Env is the environment of the programs, where they find their secrets.
	Env []string
	// Timeout bounds one call. Default one minute.
	Timeout time.Duration
}

// PublicKey asks the plugin for the public key. It returns the errors of
// [ErrPlugin], and ErrPublicKey for a key that is neither Ed25519 nor ECDSA P-256.
func (p Plugins) PublicKey(ref Reference) (PublicKey, error) {
	answer, err := p.call(ref, nil, func(rpc common.RPCOptions) common.MethodArgs {
		return common.MethodArgs{MethodName: common.PublicKeyMethodName,
			PublicKey: &common.PublicKeyArgs{PublicKeyOptions: &common.PublicKeyOptions{RPCOptions: rpc}}}
	})
	if err == nil && answer.PublicKey == nil {
		err = fmt.Errorf("%w: the answer holds no public key", ErrPlugin)
	}
	if err != nil {
		return PublicKey{}, fmt.Errorf("ask %s for its public key: %w", ref.Program(), err)
	}
	key, err := parseForeignPEM(answer.PublicKey.PublicKeyPEM)
	if err != nil {
		return PublicKey{}, fmt.Errorf("ask %s for its public key: %w", ref.Program(), err)
	}
	return key, nil
}

// Key returns a key whose private half stays with the plugin: each signature is
// one call of it. A signature is held against public before it is returned, and
// brought into its one spelling; one of another key or of other bytes gives
// ErrSignature. The key cannot be written to a file.
func (p Plugins) Key(ref Reference, public PublicKey) (Key, error) {
	if ref == (Reference{}) || public.IsZero() {
		return Key{}, fmt.Errorf("use %s: %w", ref.Program(), ErrNoKey)
	}
	held := secret{signer: pluginSigner{plugins: p, ref: ref, public: public}}
	return Key{secret: func() secret { return held }, public: public}, nil
}

// pluginSigner is a sigstore signer that asks a plugin.
type pluginSigner struct {
	plugins Plugins
	ref     Reference
	public  PublicKey
}

// SignMessage implements signature.Signer.
func (s pluginSigner) SignMessage(message io.Reader, _ ...signature.SignOption) ([]byte, error) {
	text, err := io.ReadAll(message)
	if err != nil {
		return nil, err
	}
	answer, err := s.plugins.call(s.ref, text, func(rpc common.RPCOptions) common.MethodArgs {
		return common.MethodArgs{MethodName: common.SignMessageMethodName,
			SignMessage: &common.SignMessageArgs{SignOptions: &common.SignOptions{RPCOptions: rpc}}}
	})
	if err == nil && answer.SignMessage == nil {
		err = fmt.Errorf("%w: the answer holds no signature", ErrPlugin)
	}
	if err != nil {
		return nil, fmt.Errorf("sign by %s: %w", s.ref.Program(), err)
	}
	sig := answer.SignMessage.Signature
	if s.public.Algorithm() == ECDSAP256 {
		if low, err := lowS(sig); err == nil { // else it does not verify, below
			sig = low
		}
	}
	if err := s.public.Verify(text, sig); err != nil {
		return nil, fmt.Errorf("sign by %s: the plugin's signature is not the key's: %w", s.ref.Program(), err)
	}
	return sig, nil
}

// PublicKey implements signature.Signer.
func (s pluginSigner) PublicKey(...signature.PublicKeyOption) (crypto.PublicKey, error) {
	return s.public.verifier.PublicKey()
}

// call runs the plugin once: a method with its arguments as JSON, message as its
// stdin. Its exit code says nothing in this protocol, what it printed does.
func (p Plugins) call(ref Reference, message []byte, method func(common.RPCOptions) common.MethodArgs) (common.PluginResp, error) {
	fail := func(err error) (common.PluginResp, error) {
		return common.PluginResp{}, fmt.Errorf("%w: %w", ErrPlugin, err)
	}
	limit := p.Timeout
	if limit == 0 {
		limit = pluginTime
	}
	path, err := exec.LookPath(ref.Program())
	if err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	deadline, _ := ctx.Deadline()
	rpc := common.RPCOptions{CtxDeadline: &deadline}
	args := method(rpc)
	text, err := json.Marshal(common.PluginArgs{
		InitOptions: &common.InitOptions{CtxDeadline: &deadline, ProtocolVersion: common.ProtocolVersion, KeyResourceID: ref.resource,
			HashFunc: crypto.SHA256, RPCOptions: &rpc},
		MethodArgs: &args,
	})
	if err != nil {
		return fail(err)
	}
	var stdout, stderr bounded
	cmd := exec.CommandContext(ctx, path, common.ProtocolVersion, string(text))
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = p.Env, bytes.NewReader(message), &stdout, &stderr, pluginRest
	err = cmd.Run()
	if ctx.Err() != nil {
		return fail(fmt.Errorf("no answer within %s: %w%s", limit, ctx.Err(), stderr.quote()))
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() < 1) {
		return fail(fmt.Errorf("%w%s", err, stderr.quote()))
	}
	var answer common.PluginResp
	if stdout.over {
		return fail(fmt.Errorf("it printed more than %d bytes", pluginAnswer))
	}
	if err := json.Unmarshal(stdout.text, &answer); err != nil {
		return fail(fmt.Errorf("its answer is not that of protocol %s%s", common.ProtocolVersion, stderr.quote()))
	}
	if answer.ErrorMessage != "" {
		return fail(fmt.Errorf("it says %+q%s", clip(answer.ErrorMessage), stderr.quote()))
	}
	return answer, nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	text []byte
	over bool
}

// Write implements io.Writer; it never fails, so that a program that talks too
// much is read to its end.
func (b *bounded) Write(p []byte) (int, error) {
	room := pluginAnswer - len(b.text)
	b.over = b.over || len(p) > room
	b.text = append(b.text, p[:min(room, len(p))]...)
	return len(p), nil
}

// quote returns the end of what was written, as ASCII, for an error.
func (b *bounded) quote() string {
	text := bytes.TrimSpace(b.text)
	if len(text) == 0 {
		return ""
	}
	return fmt.Sprintf("; stderr ends with %+q", text[max(0, len(text)-pluginTail):])
}

func clip(s string) string { return s[:min(len(s), pluginTail)] }
