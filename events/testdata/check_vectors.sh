#!/bin/sh
# Checks golden vectors with a shell, openssl and od: none of our code.
# Usage: check_vectors.sh FILE...
# A vector has one member per line; its texts hold no escape but \" and \\.
set -eu
LC_ALL=C
export LC_ALL
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

order='sequence prevhash fencetoken causationid correlationid authtype authid signkeyid traceparent'
ptype='https://cloudevents.io/verifiability/dsse/v0.1'

fail() { echo "$file: $1" >&2; exit 1; }
same() { [ "$2" = "$3" ] || fail "$1: have $2, want $3"; }
plain() { sed 's/\\\(["\\]\)/\1/g' | tr -d '\n'; }
top() { sed -n 's/^  "'"$1"'": "\(.*\)",\{0,1\}$/\1/p' "$file" | plain; }
attr() { sed -n '/^  "attributes": {$/,/^  }/s/^    "'"$1"'": "\(.*\)",\{0,1\}$/\1/p' "$file" | plain; }
head() { sed -n '/^  "storedHeaders": {$/,/^  }/s/^    "'"$1"'": "\(.*\)",\{0,1\}$/\1/p' "$file" | plain; }
count() { sed -n '/^  "'"$1"'": {$/,/^  }/p' "$file" | grep -c '^    "'; }
key() { sed -n 's/^      "'"$2"'": "\(.*\)",\{0,1\}$/\1/p' "$file" | sed -n "$1p"; }
sha() { openssl dgst -sha256 -binary; }
hex() { od -An -v -tx1 | tr -d ' \n'; }
b64() { openssl base64 -A; }
unb64() { printf %s "$1" | openssl base64 -d -A; }
# unhex writes the bytes of hex digits.
unhex() { printf "$(printf %s "$1" | sed 's/../\\x&/g' | awk '{
	n = split($0, p, "\\x"); for (i = 2; i <= n; i++) printf "\\%03o", 16 * (index("0123456789abcdef", substr(p[i], 1, 1)) - 1) + index("0123456789abcdef", substr(p[i], 2, 1)) - 1 }')"; }

for file in "$@"; do
	data=$(top data)
	: >"$tmp/parts"
	for name in id source specversion type datacontenttype dataschema subject time; do
		printf %s "$(attr $name)" | sha >>"$tmp/parts"
	done
	printf %s "$data" | sha >>"$tmp/parts"
	sha <"$tmp/parts" >"$tmp/core"
	: >"$tmp/parts"
	for name in $order; do
		printf %s "$(attr $name)" | sha >>"$tmp/parts"
	done
	sha <"$tmp/parts" >"$tmp/ext"
	same core "$(hex <"$tmp/core")" "$(top core)"
	same ext "$(hex <"$tmp/ext")" "$(top ext)"

	names=$(printf '"%s",' $order)
	payload='{"core":"'$(b64 <"$tmp/core")'","ext":"'$(b64 <"$tmp/ext")'","signedextattrs":['${names%,}']}'
	same signingPayload "$payload" "$(top signingPayload)"
	printf 'DSSEv1 %d %s %d %s' ${#ptype} "$ptype" ${#payload} "$payload" >"$tmp/pae"
	same pae "$(hex <"$tmp/pae")" "$(top paeHex)"
	same eventHash "$(sha <"$tmp/pae" | hex)" "$(top eventHash)"

	sigs= found= n=1
	while keyid=$(key $n keyId) && [ -n "$keyid" ]; do
		unb64 "$(key $n publicKey)" >"$tmp/public.raw"
		case $(wc -c <"$tmp/public.raw" | tr -d ' ') in
		32) # Ed25519
			unhex "302e020100300506032b657004220420$(key $n seed)" >"$tmp/private.der"
			unhex 302a300506032b6570032100 >"$tmp/public.der"
			printf '\000\000\000\013ssh-ed25519\000\000\000\040' >"$tmp/wire"
			;;
		65) # ECDSA P-256: an uncompressed point
			unhex "30310201010420$(key $n seed)a00a06082a8648ce3d030107" >"$tmp/private.der"
			unhex 3059301306072a8648ce3d020106082a8648ce3d030107034200 >"$tmp/public.der"
			printf '\000\000\000\023ecdsa-sha2-nistp256\000\000\000\010nistp256\000\000\000\101' >"$tmp/wire"
			unb64 "$(key $n signature)" | openssl asn1parse -inform DER | awk -F: -v half=7FFFFFFF800000007FFFFFFFFFFFFFFFDE737D56D38BCF4279DCE5617E3192A8 '
				/INTEGER/ { n++; s = $NF } END { while (length(s) < 64) s = "0" s; exit !(n == 2 && s "" <= half "") }' || fail "s is in the upper half"
			;;
		*) fail "public key of another length" ;;
		esac
		cat "$tmp/public.raw" >>"$tmp/public.der"
		same publicKey "$(openssl pkey -inform DER -in "$tmp/private.der" -pubout -outform DER | hex)" "$(hex <"$tmp/public.der")"
		openssl pkey -pubin -inform DER -in "$tmp/public.der" >"$tmp/public.pem"
		same publicKeyPem "$(awk '{ printf "%s\\n", $0 }' "$tmp/public.pem")" "$(key $n publicKeyPem)"
		cat "$tmp/public.raw" >>"$tmp/wire"
		same keyId "SHA256:$(sha <"$tmp/wire" | b64 | tr -d =)" "$keyid"
		unb64 "$(key $n signature)" >"$tmp/sig"
		openssl pkeyutl -verify -pubin -inkey "$tmp/public.pem" -rawin -in "$tmp/pae" -sigfile "$tmp/sig" >/dev/null ||
			fail "signature of $keyid does not verify"
		sigs="$sigs${sigs:+,}{\"keyid\":\"$keyid\",\"sig\":\"$(key $n signature)\"}"
		[ "$keyid" != "$(attr signkeyid)" ] || found=yes
		n=$((n + 1))
	done
	[ -n "$found" ] || fail "signkeyid is none of the signers"
	envelope='{"payloadType":"'$ptype'","payload":"'$(printf %s "$payload" | b64)'","signatures":['$sigs']}'
	same envelope "$envelope" "$(top envelope)"

	material=$(printf %s "$envelope" | b64)
	exported='{' present=0
	for name in specversion id source type subject time datacontenttype dataschema $order; do
		value=$(attr $name)
		[ -n "$value" ] || continue
		present=$((present + 1))
		same "header ce-$name" "$(head ce-$name)" "$value"
		exported="$exported\"$name\":\"$value\","
	done
	same "number of attributes" "$(count attributes)" $present
	same "header ce-dssematerial" "$(head ce-dssematerial)" "$material"
	same "number of headers" "$(count storedHeaders)" $((present + 1))
	same exported "$exported\"dssematerial\":\"$material\",\"data\":$data}" "$(top exported)"
done
