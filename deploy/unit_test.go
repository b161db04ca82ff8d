package deploy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// unit is a systemd unit: section and key to its values in order; an assignment of nothing is kept as an empty value.
type unit map[string][]string

func parseUnit(text string) (unit, error) {
	u, section := unit{}, ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case strings.HasSuffix(line, `\`):
			return nil, fmt.Errorf("parse line %d: a continued line hides what is set", i+1)
		case line[0] == '[' && line[len(line)-1] == ']':
			section = line[1 : len(line)-1]
		default:
			key, value, found := strings.Cut(line, "=")
			if !found || section == "" || key != strings.TrimSpace(key) || value != strings.TrimSpace(value) {
				return nil, fmt.Errorf("parse line %d: not KEY=VALUE in a section", i+1)
			}
			u[section+"."+key] = append(u[section+"."+key], value)
		}
	}
	return u, nil
}

// required is what the unit must say, and why.
func required() map[string]struct{ value, why string } {
	return map[string]struct{ value, why string }{
		"Service.KillSignal":            {"SIGTERM", "a stop lets the append in flight finish"},
		"Service.Restart":               {"on-failure", "a crash is recovered by the next start"},
		"Service.ProtectSystem":         {"strict", "only the state folder is writable"},
		"Service.ProtectHome":           {"yes", "keys of people are not its business"},
		"Service.PrivateTmp":            {"yes", "no shared folder to be tricked in"},
		"Service.NoNewPrivileges":       {"yes", "no program it starts gains a right"},
		"Service.CapabilityBoundingSet": {"", "it needs no capability"},
		"Service.AmbientCapabilities":   {"", "it needs no capability"},
		"Service.StateDirectory":        {"deed/%i", "one folder per ledger, made before the start"},
		"Service.StateDirectoryMode":    {"0700", "the folder holds the service key"},
		"Service.UMask":                 {"0077", "new files are its own"},
		"Service.User":                  {"deed", "never root"},
		"Service.IPAddressDeny":         {"any", "loopback only"},
		"Service.IPAddressAllow":        {"localhost", "loopback only"},
	}
}

func unitFaults(text string) []string {
	u, err := parseUnit(text)
	if err != nil {
		return []string{err.Error()}
	}
	var faults []string
	for key, want := range required() {
		if got := u[key]; !slices.Equal(got, []string{want.value}) {
			faults = append(faults, fmt.Sprintf("%s is %q, want %q: %s", key, got, want.value, want.why))
		}
	}
	if got := u["Service.TimeoutStopSec"]; len(got) != 1 || got[0] == "infinity" || got[0] == "0" {
		faults = append(faults, fmt.Sprintf("TimeoutStopSec is %q, want a bounded time", got))
	}
	if got := u["Service.Environment"]; got != nil {
		faults = append(faults, "Environment is set: settings are flags that the journal shows")
	}
	if _, err := serveArguments(u); err != nil {
		faults = append(faults, err.Error())
	}
	slices.Sort(faults)
	return faults
}

// serveArguments returns what follows `deed serve` in the unit's one ExecStart.
func serveArguments(u unit) ([]string, error) {
	lines := u["Service.ExecStart"]
	if len(lines) != 1 {
		return nil, fmt.Errorf("read ExecStart: %d lines, want one", len(lines))
	}
	words := strings.Fields(lines[0])
	if len(words) < 2 || words[0] != "/usr/local/bin/deed" || words[1] != "serve" {
		return nil, fmt.Errorf("read ExecStart: %q does not run deed serve by its absolute path", lines[0])
	}
	if !strings.Contains(lines[0], "--dir /var/lib/"+strings.Join(u["Service.StateDirectory"], "")) {
		return nil, fmt.Errorf("read ExecStart: %q does not use the unit's state folder", lines[0])
	}
	return words[2:], nil
}

func TestUnit(t *testing.T) {
	text, err := os.ReadFile("deed@.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range unitFaults(string(text)) {
		t.Error(fault)
	}
	for _, change := range []struct{ from, to string }{
		{"KillSignal=SIGTERM", "KillSignal=SIGKILL"},
		{"Restart=on-failure", ""},
		{"Restart=on-failure", "Restart=always"},
		{"ProtectSystem=strict", "ProtectSystem=full"},
		{"NoNewPrivileges=yes", "NoNewPrivileges=no"},
		{"NoNewPrivileges=yes", "NoNewPrivileges=yes\nNoNewPrivileges=no"},
		{"CapabilityBoundingSet=\n", "CapabilityBoundingSet=CAP_NET_ADMIN\n"},
		{"StateDirectory=deed/%i", "StateDirectory=deed"},
		{"StateDirectoryMode=0700", "StateDirectoryMode=0755"},
		{"User=deed", "User=root"},
		{"IPAddressDeny=any", ""},
		{"TimeoutStopSec=30", "TimeoutStopSec=infinity"},
		{"TimeoutStopSec=30", ""},
		{"UMask=0077", "Environment=DEED_KEY=secret\nUMask=0077"},
		{"--dir /var/lib/deed/%i", "--dir /srv/%i"},
		{"/usr/local/bin/deed serve", "deed serve"},
		{"/usr/local/bin/deed serve", "/usr/local/bin/deed up"},
		{"ExecStart=", "ExecStart=/bin/true\nExecStart="},
		{"ExecStart=", "ExecStart"},
		{"[Service]", ""},
		{"RestartSec=2", `RestartSec=2 \`},
	} {
		changed := strings.Replace(string(text), change.from, change.to, 1)
		if changed == string(text) {
			t.Errorf("the unit does not hold %q", change.from)
		} else if len(unitFaults(changed)) == 0 {
			t.Errorf("%q instead of %q was not seen", change.to, change.from)
		}
	}
}
