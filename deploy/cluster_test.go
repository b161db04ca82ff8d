package deploy

import (
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/deedledger/deed/journal/jetstream/embedded"
)

// readClusterConf parses the configuration of one of three servers.
func readClusterConf(t *testing.T, path string) *server.Options {
	t.Helper()
	for name, value := range map[string]string{"NAME": "nats-1", "LISTEN": `"127.0.0.1:4222"`, "STORE": `"/var/lib/nats"`, "CLUSTER": `"127.0.0.1:6222"`} {
		t.Setenv("DEED_NATS_"+name, value)
	}
	return readConf(t, path)
}

// TestClusterConf: the example of three servers has the accounts that the code
// needs and loses nothing.
func TestClusterConf(t *testing.T) {
	text, err := os.ReadFile("nats-cluster.conf")
	if err != nil {
		t.Fatal(err)
	}
	if accounts := embedded.Accounts("main", "$DEED_NATS_SERVICE_PASSWORD", "$DEED_NATS_CLIENT_PASSWORD"); !strings.HasSuffix(string(text), accounts) {
		t.Errorf("nats-cluster.conf does not end with the accounts that the code needs:\n%s", accounts)
	}
	o := readClusterConf(t, "nats-cluster.conf")
	for _, why := range lossy(o) {
		if why != "opens another port" { // the cluster's own
			t.Error(why)
		}
	}
	if o.Cluster.Name == "" || len(o.Routes) != 3 || o.ServerName != "nats-1" || o.StoreDir != "/var/lib/nats" {
		t.Errorf("cluster %q with %d routes, server %q, store %q", o.Cluster.Name, len(o.Routes), o.ServerName, o.StoreDir)
	}
	const sync = "sync_interval: always"
	if len(lossy(readClusterConf(t, edit(t, string(text), change{sync, "sync_interval: 2m"})))) < 2 {
		t.Error("a lazy sync is not seen")
	}
}
