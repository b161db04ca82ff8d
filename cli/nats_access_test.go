package cli_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// wayIn is one way into an operator's NATS, as flags of the command.
type wayIn struct {
	url             string
	service, client []string
	wrong           map[string][]string // flags that do not let in, by why
	exit            int                 // of a command with those
}

// TestAccess: each way into an operator's NATS, from the creation of a ledger
// to a client's event, and what does not get in.
func TestAccess(t *testing.T) {
	for name, build := range map[string]func(*testing.T, home) wayIn{"creds": credsWay, "nkey": nkeyWay, "tls": tlsWay} {
		t.Run(name, func(t *testing.T) {
			h, asking := newHome(t), newHome(t)
			w := build(t, h)
			flags := func(head []string, access []string) []string {
				return append(append(head, "--nats", w.url), access...)
			}
			create := []string{"ledger", "create", "main", "--admin", "ann"}
			h.run(0, "key", "new", "ann")
			for why, access := range w.wrong {
				h.refused(w.exit, why, flags(create, access)...)
			}
			h.run(0, flags(create, w.service)...)
			h.serve()
			folder := filepath.Join(h.dir, "data", "ledgers", "main")
			add := []string{"context", "add", "main", "--ledger-file", filepath.Join(folder, "ledger.json")}
			asking.run(0, flags(add, w.client)...)
			asking.keep(filepath.Join("config", "keys", "ann.key"), h.read(filepath.Join("config", "keys", "ann.key")))
			asking.invite("one")
			asking.run(0, "audit", "verify")
			for why, access := range w.wrong {
				other := newHome(t)
				other.run(0, flags(add, access)...)
				other.refused(w.exit, why, "status")
				h.refused(w.exit, why, flags([]string{"serve", "--dir", twin(t, folder)}, access)...)
			}
		})
	}
}

// refused runs a command that must end with an exit code and say why.
func (h home) refused(exit int, why string, args ...string) {
	h.t.Helper()
	var complaint bytes.Buffer
	cmd := h.command(args...)
	cmd.Stderr = &complaint
	_ = cmd.Run() // the state has the exit code
	if got := cmd.ProcessState.ExitCode(); got != exit || !strings.Contains(complaint.String(), why) {
		h.t.Errorf("deed %s: exit %d, want %d and %q\n%s", strings.Join(args, " "), got, exit, why, &complaint)
	}
}

// keep writes a file of the home and returns its path.
func (h home) keep(name string, text []byte) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (h home) read(name string) []byte {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return text
}

// twin copies what another instance needs of a folder.
func twin(t *testing.T, folder string) string {
	t.Helper()
	h, from := newHome(t), home{t, folder}
	h.keep("ledger.json", from.read("ledger.json"))
	h.keep("service.key", from.read("service.key"))
	return h.dir
}

// layout is the accounts of deploy/nats-jwt.json.
type layout struct {
	DEED    struct{ Exports jwt.Exports }
	CLIENTS struct{ Imports jwt.Imports }
	Client  jwt.Permissions
}

// pair makes a key pair of a kind, and its public key.
func pair(t *testing.T, create func() (nkeys.KeyPair, error)) (key nkeys.KeyPair, public string) {
	t.Helper()
	key, err := create()
	if err == nil {
		public, err = key.PublicKey()
	}
	if err != nil {
		t.Fatal(err)
	}
	return key, public
}

// credsWay is an operator with the two accounts of the layout that is shipped.
func credsWay(t *testing.T, h home) wayIn {
	text, err := os.ReadFile(filepath.Join("..", "deploy", "nats-jwt.json"))
	var l layout
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil {
		t.Fatal(err)
	}
	operator, operatorID := pair(t, nkeys.CreateOperator)
	deed, deedID := pair(t, nkeys.CreateAccount)
	clients, clientsID := pair(t, nkeys.CreateAccount)
	_, systemID := pair(t, nkeys.CreateAccount)
	encode := func(c jwt.Claims, by nkeys.KeyPair) string {
		token, err := c.Encode(by)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	service := jwt.NewAccountClaims(deedID)
	service.Name, service.Exports = embedded.ServiceAccount, l.DEED.Exports
	service.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	asking := jwt.NewAccountClaims(clientsID)
	asking.Name, asking.Imports = embedded.ClientAccount, l.CLIENTS.Imports
	for _, i := range asking.Imports {
		i.Account = deedID
	}
	user := func(name string, account nkeys.KeyPair, p jwt.Permissions) string {
		key, id := pair(t, nkeys.CreateUser)
		c := jwt.NewUserClaims(id)
		c.Name, c.Permissions = name, p
		seed, err := key.Seed()
		var creds []byte
		if err == nil {
			creds, err = jwt.FormatUserConfig(encode(c, account), seed)
		}
		if err != nil {
			t.Fatal(err)
		}
		return h.keep(name+".creds", creds)
	}
	stranger, _ := pair(t, nkeys.CreateAccount)
	conf := fmt.Sprintf("listen: \"127.0.0.1:-1\"\njetstream { store_dir: %q }\noperator: %q\nsystem_account: %s\nresolver: MEMORY\nresolver_preload {\n  %s: %q\n  %s: %q\n  %s: %q\n}\n",
		t.TempDir(), encode(jwt.NewOperatorClaims(operatorID), operator), systemID, systemID, encode(jwt.NewAccountClaims(systemID), operator), deedID, encode(service, operator), clientsID, encode(asking, operator))
	return wayIn{
		url:     natstest.Serve(t, conf),
		service: []string{"--creds", user("service", deed, jwt.Permissions{})},
		client:  []string{"--creds", user("client", clients, l.Client)},
		wrong:   map[string][]string{"credential": {"--creds", user("stranger", stranger, jwt.Permissions{})}},
		exit:    4,
	}
}

// nkeyWay is two users of the accounts in the server's file, with nkeys.
func nkeyWay(t *testing.T, h home) wayIn {
	seed := func(name string) (file, public string) {
		key, public := pair(t, nkeys.CreateUser)
		text, err := key.Seed()
		if err != nil {
			t.Fatal(err)
		}
		return h.keep(name+".nk", text), public
	}
	service, serviceID := seed("service")
	client, clientID := seed("client")
	stranger, _ := seed("stranger")
	accounts := embedded.Accounts("main", `"s"`, `"c"`)
	accounts = strings.Replace(accounts, `user: service, password: "s"`, "nkey: "+serviceID, 1)
	accounts = strings.Replace(accounts, "user: client\n        password: \"c\"", "nkey: "+clientID, 1)
	return wayIn{
		url:     natstest.Serve(t, fmt.Sprintf("listen: \"127.0.0.1:-1\"\njetstream { store_dir: %q }\n", t.TempDir())+accounts),
		service: []string{"--nkey", service}, client: []string{"--nkey", client},
		wrong: map[string][]string{"credential": {"--nkey", stranger}}, exit: 4,
	}
}

// tlsWay is a server whose certificate a test's authority signed.
func tlsWay(t *testing.T, h home) wayIn {
	ca, cert, key := certificates(t, h, "good")
	other, _, _ := certificates(t, h, "other")
	conf := fmt.Sprintf("listen: \"127.0.0.1:-1\"\njetstream { store_dir: %q }\ntls { cert_file: %q, key_file: %q }\n", t.TempDir(), cert, key)
	password := strings.Repeat("p", embedded.MinPasswordBytes)
	file := h.keep("password", []byte(password))
	user := func(name, ca string) []string {
		return []string{"--user", name, "--password-file", file, "--tlsca", ca}
	}
	return wayIn{
		url:     natstest.Serve(t, conf+embedded.Accounts("main", `"`+password+`"`, `"`+password+`"`)),
		service: user("service", ca), client: user("client", ca),
		wrong: map[string][]string{"certificate": user("service", other)}, exit: 4,
	}
}

// certificates makes an authority and a certificate of it for loopback.
func certificates(t *testing.T, h home, name string) (ca, cert, key string) {
	t.Helper()
	template := func(serial int64) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true,
		}
	}
	authority, leaf := template(1), template(2)
	authority.IsCA = true
	leaf.IPAddresses, leaf.ExtKeyUsage = []net.IP{net.IPv4(127, 0, 0, 1)}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	root, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(c *x509.Certificate, k *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, authority, k.Public(), root)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	der, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return h.keep(name+"-ca.pem", sign(authority, root)), h.keep(name+".pem", sign(leaf, own)),
		h.keep(name+"-key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}
