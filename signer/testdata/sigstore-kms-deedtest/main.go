// Command sigstore-kms-deedtest is a key plugin for tests: sigstore's own handler around a key
// in memory. What follows :// is NAME or NAME?FAULT; the key is derived from NAME,
// and p256… is an ECDSA P-256 key, p384… and rsa… are keys that Deed refuses.
package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"strings"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/kms/cliplugin/handler"
	"github.com/sigstore/sigstore/pkg/signature/options"
)

func main() {
	args, err := handler.GetPluginArgs(os.Args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	name, fault, _ := strings.Cut(args.InitOptions.KeyResourceID, "?")
	if log := os.Getenv("PLUGIN_LOG"); log != "" {
		file, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(file, args.MethodName, name)
		file.Close()
	}
	fmt.Fprint(os.Stderr, "\x1b[31mplugin speaks\u202e\n")
	stdin := io.Reader(os.Stdin)
	switch fault {
	case "hang":
		select {}
	case "crash":
		os.Exit(3)
	case "killed":
		process, _ := os.FindProcess(os.Getpid())
		_ = process.Kill()
		select {}
	case "empty":
		fmt.Print("{}")
		return
	case "text":
		fmt.Print("\x1b[31mno JSON")
		return
	case "flood":
		fmt.Print(strings.Repeat("x", 1<<20))
		return
	case "error":
		_ = handler.WriteErrorResponse(os.Stdout, errors.New("denied \x1b[31m"))
		os.Exit(1)
	case "otherbytes":
		stdin = strings.NewReader("something else")
	case "otherkey":
		if args.SignMessage != nil {
			name += "-other"
		}
	}
	sv, err := load(name)
	if err != nil {
		_ = handler.WriteErrorResponse(os.Stdout, err)
		os.Exit(1)
	}
	if _, err := handler.Dispatch(os.Stdout, stdin, args, held{sv, fault}); err != nil {
		os.Exit(1)
	}
}

// load derives a key from a name.
func load(name string) (signature.SignerVerifier, error) {
	seed := sha256.Sum256([]byte(name))
	var private crypto.PrivateKey = ed25519.NewKeyFromSeed(seed[:])
	var err error
	switch {
	case strings.HasPrefix(name, "p256"):
		private, err = ecdsa.ParseRawPrivateKey(elliptic.P256(), seed[:])
	case strings.HasPrefix(name, "p384"):
		private, err = ecdsa.ParseRawPrivateKey(elliptic.P384(), append(make([]byte, 16), seed[:]...))
	case strings.HasPrefix(name, "rsa"):
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		return nil, err
	}
	return signature.LoadSignerVerifierWithOpts(private, options.WithHash(crypto.SHA256))
}

// held is a key in the shape that the handler wants.
type held struct {
	signature.SignerVerifier
	fault string
}

func (h held) CreateKey(context.Context, string) (crypto.PublicKey, error) {
	return nil, errors.New("not here")
}

func (h held) CryptoSigner(context.Context, func(error)) (crypto.Signer, crypto.SignerOpts, error) {
	return nil, nil, errors.New("not here")
}

func (h held) SupportedAlgorithms() []string { return nil }

func (h held) DefaultAlgorithm() string { return "" }

// SignMessage signs, and spells an ECDSA signature with the high s on demand.
func (h held) SignMessage(message io.Reader, _ ...signature.SignOption) ([]byte, error) {
	sig, err := h.SignerVerifier.SignMessage(message)
	if err != nil || h.fault != "high" && h.fault != "p1363" {
		return sig, err
	}
	var parts struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(sig, &parts); err != nil {
		return nil, err
	}
	if h.fault == "p1363" {
		return append(parts.R.FillBytes(make([]byte, 32)), parts.S.FillBytes(make([]byte, 32))...), nil
	}
	n := elliptic.P256().Params().N
	if low := new(big.Int).Sub(n, parts.S); low.Cmp(parts.S) > 0 {
		parts.S = low
	}
	return asn1.Marshal(parts)
}

func (h held) VerifySignature(sig, message io.Reader, opts ...signature.VerifyOption) error {
	text, err := io.ReadAll(message)
	if err != nil {
		return err
	}
	return h.SignerVerifier.VerifySignature(sig, bytes.NewReader(text), opts...)
}
