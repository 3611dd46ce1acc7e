package configs

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const gate = `streams:
  - name: gate
    url: rtsp://camera.example/main
`

func TestDefaultFileAgreesWithTheCodeAndNamesEveryKey(t *testing.T) {
	got, err := parse("default.yaml", Template(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	stream := DefaultStream()
	stream.Name, stream.URL, stream.Prompts = "camera", "testscene:", []Prompt{}
	want.Streams, want.HTTP.AllowOrigins, want.WebRTC.AdditionalHosts = []Stream{stream}, []string{}, []string{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("default.yaml decodes to\n%#v, the code's defaults are\n%#v", got, want)
	}

	commented := map[string]bool{}
	for line := range strings.SplitSeq(string(Template()), "\n") {
		if m := regexp.MustCompile(`^[ -]*([a-z_]+):.*\S.* # \S`).FindStringSubmatch(line); m != nil {
			commented[m[1]] = true
		} else if m := regexp.MustCompile(`^[ -]*([a-z_]+): # \S`).FindStringSubmatch(line); m != nil {
			commented[m[1]] = true
		}
	}
	var check func(reflect.Type)
	check = func(s reflect.Type) {
		for _, key := range keys(s) {
			if !commented[key] {
				t.Errorf("default.yaml has no commented line for %q", key)
			}
		}
		for i := range s.NumField() {
			switch f := s.Field(i).Type; {
			case f == reflect.TypeFor[[]Stream]():
				check(f.Elem())
			case f.Kind() == reflect.Struct:
				check(f)
			}
		}
	}
	check(reflect.TypeFor[Config]())
}

func TestDemoIsValid(t *testing.T) {
	c, err := Demo(nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Streams[0]; s.Name != "demo" || s.URL != "testscene:" || s.Model != "nano" || len(s.Prompts) != 1 || !c.NATS.Embedded {
		t.Errorf("demo is %#v", c)
	}
}

func TestAnchorsMergesVariablesAndFilesAreReadAsWritten(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("p@ss:w/#%?!\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := `
streams:
  - &base
    name: a
    url: http://${HOST}/x
    username: 0123
    password: ${file:` + secret + `}
    history: ${N}
    lost_after: 1m30s
    prompts: [{points: [[1, 2.5]], labels: [1]}]
  - <<: *base
    name: b
    username: $${plain}
nats: {batch: {bytes: 1MiB, count: 25, age: 2s}}
`
	c, err := parse("t.yaml", []byte(text), []string{"HOST=h.example", "N=17"})
	if err != nil {
		t.Fatal(err)
	}
	a, b := c.Streams[0], c.Streams[1]
	if a.URL != "http://h.example/x" || a.Username != "0123" || a.Password != "p@ss:w/#%?!" || a.History != 17 ||
		time.Duration(a.LostAfter) != 90*time.Second || a.Prompts[0].Points[0] != [2]float64{1, 2.5} {
		t.Errorf("a is %#v", a)
	}
	if b.Name != "b" || b.Username != "${plain}" || b.History != 17 || b.Device != "auto" {
		t.Errorf("b is %#v", b)
	}
	if c.NATS.Batch != (Batch{25, 1 << 20, Duration(2 * time.Second)}) {
		t.Errorf("batch is %#v", c.NATS.Batch)
	}
}

func TestAutoMayStandInTheListOfPrompts(t *testing.T) {
	for _, form := range []string{"    auto: true\n", "    prompts: [{auto: true}]\n"} {
		c, err := parse("t.yaml", []byte(gate+form), nil)
		if err != nil || !c.Streams[0].Auto || c.Streams[0].Prompts != nil {
			t.Errorf("%q: %v", form, err)
		}
	}
}

func TestEnvironmentGoesBeforeTheFile(t *testing.T) {
	c, err := parse("t.yaml", []byte(gate), []string{
		"TRACKER_STREAMS_0_URL=old", "TRACKER_STREAMS_0_URL=clip.mp4", "TRACKER_STREAMS_0_PASSWORD_FILE=/run/x", "TRACKER_STREAMS_0_USERNAME=u",
		"TRACKER_STREAMS_1_NAME=second", "TRACKER_STREAMS_1_URL=testscene:", "TRACKER_STREAMS_1_PROMPTS_0_BOX=[1, 2, 3, 4]",
		"TRACKER_STREAMS_1_PROMPTS_1_POINTS=[[5, 6]]", "TRACKER_STREAMS_1_PROMPTS_1_LABELS_0=0", "TRACKER_STREAMS_0_PROMPTS=[{box: [1, 2, 3, 5]}]",
		"TRACKER_STREAMS_1_PROMPTS_2_MASK_SIZE=[2, 3]", "TRACKER_STREAMS_1_PROMPTS_2_MASK_COUNTS=221O",
		"TRACKER_NATS_URL=nats://${not expanded}", "TRACKER_NATS_URL=nats://h:1", "TRACKER_NATS_BATCH_BYTES=2KiB", "TRACKER_HTTP_ALLOW_ORIGINS_0=https://a.example",
		"HOME=/root",
	})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Streams
	if len(s) != 2 || s[0].URL != "clip.mp4" || s[0].PasswordFile != "/run/x" || s[1].Policy != "newest" || len(s[1].Prompts) != 3 ||
		s[1].Prompts[1].Labels[0] != 0 || s[0].Prompts[0].Box[3] != 5 || s[1].Prompts[2].Mask.Counts != "221O" || c.NATS.URL != "nats://h:1" ||
		c.NATS.Batch.Bytes != 2048 || c.HTTP.AllowOrigins[0] != "https://a.example" {
		t.Errorf("got %#v", c)
	}
}

// wrong are configurations that must be refused: with which words, and where.
var wrong = map[string]struct {
	text, env, want string
}{
	"syntax":                      {text: "streams: [", want: "t.yaml:1:10: no YAML"},
	"tab":                         {text: "streams:\n\t- name: a", want: "t.yaml:2:1: no YAML: a tab, where YAML wants spaces"},
	"variable of raw bytes":       {text: gate, env: "TRACKER_\x9f=1", want: "environment variable TRACKER_? sets no key"},
	"text of 16 bits":             {text: "\xff\xfes\x00", want: "t.yaml: it is not UTF-8"},
	"nesting without end":         {text: "streams: " + strings.Repeat("[", 200_000), want: "t.yaml:1:74: more than 64 levels deep"},
	"duplicate key":               {text: gate + "log: {level: info, level: warn}", want: "t.yaml:4:20: "},
	"unknown key":                 {text: gate + "    pasword: x\n", want: `t.yaml:4:5: unknown key "pasword" in streams[0]: did you mean "password"?`},
	"unknown top key":             {text: gate + "http2: {}\n", want: `t.yaml:4:1: unknown key "http2" in the configuration: did you mean "http"?`},
	"unknown far key":             {text: gate + "zzzzzz: 1\n", want: "known are streams, nats, http, webrtc, log"},
	"wrong bool":                  {text: gate + "nats: {embedded: yes}", want: `t.yaml:4:18: nats.embedded: "yes" is neither true nor false`},
	"wrong number":                {text: gate + "    history: many", want: `t.yaml:4:14: streams[0].history: "many" is no whole number`},
	"no object":                   {text: gate + "    max_objects: 0", want: `streams[0].max_objects: 0: track 1 to 10000 objects at once`},
	"more objects than allowed":   {text: gate + "    max_objects: 1\n    prompts: [{object: 1, box: [1, 2, 3, 4]}, {object: 1, points: [[1, 2]], labels: [1]}, {object: 2, box: [1, 2, 3, 4]}]", want: `streams[0].prompts: they name 2 objects, and max_objects is 1`},
	"wrong duration":              {text: gate + "    lost_after: 10", want: `t.yaml:4:17: streams[0].lost_after: "10" is no duration`},
	"wrong size":                  {text: gate + "nats: {batch: {bytes: 9QB}}", want: `"9QB" is no size`},
	"size beyond all":             {text: gate + "nats: {batch: {bytes: 99999999999GiB}}", want: `is no size`},
	"mapping for a value":         {text: gate + "log: {level: {a: 1}}", want: "log.level takes one value"},
	"value for a mapping":         {text: gate + "log: loud", want: "log takes keys: level, format"},
	"value for a list":            {text: "streams: gate", want: "streams takes a list"},
	"anchor within itself":        {text: "streams: &a [*a]", want: "anchor"},
	"second document":             {text: gate + "---\nlog: {}", want: "second YAML document"},
	"no streams":                  {text: "log: {}", want: "streams: no stream"},
	"missing name":                {text: "streams: [{url: x}]", want: "t.yaml:1:11: streams[0].name: stream name \"\""},
	"reserved name":               {text: "streams: [{name: ctl, url: x}]", want: "t.yaml:1:18: streams[0].name: stream name \"ctl\" is reserved"},
	"wildcard name":               {text: "streams: [{name: 'a.>', url: x}]", want: "use 1 to 64"},
	"two of a name":               {text: gate + "  - {name: gate, url: x}", want: `t.yaml:4:12: streams[1].name: "gate" names two streams`},
	"concat":                      {text: "streams: [{name: a, url: 'concat:/etc/passwd'}]", want: `"concat" is not a protocol`},
	"subfile":                     {text: "streams: [{name: a, url: 'subfile,,start,0,end,9,,:/etc/passwd'}]", want: "is not a protocol"},
	"password in two places":      {text: gate + "    username: a\n    password: b\n    password_file: c", want: "exclude each other"},
	"user in two places":          {text: "streams: [{name: a, url: 'rtsp://u:p@h/', username: b}]", want: "give it in one place"},
	"password without user":       {text: gate + "    password: b", want: "no username"},
	"raw @ in the password":       {text: "streams: [{name: a, url: 'rtsp://u:ge@heim@h/'}]", want: "more than one @: percent-encode"},
	"port beyond all":             {text: "streams: [{name: a, url: 'rtsp://u:geheim@h:99999/'}]", want: "rtsp://REDACTED@h:99999/: port 99999"},
	"unescaped password":          {text: "streams: [{name: a, url: 'rtsp://u:geh%eim@h/'}]", want: "percent-encode"},
	"raw # in the password":       {text: "streams: [{name: a, url: 'rtsp://u:12#geheim@h/'}]", want: "rtsp://REDACTED@h/ has an @ behind its first / ? or #: percent-encode"},
	"raw / in the password":       {text: "streams: [{name: a, url: 'rtsp://u:12/geheim@h/main'}]", want: "an @ behind its first"},
	"raw ? in the password":       {text: "streams: [{name: a, url: 'rtsp://u:12?geheim@h/main'}]", want: "an @ behind its first"},
	"no time at all":              {text: gate + "    timeout: 0s", want: "t.yaml:4:14: streams[0].timeout: 0s: at least 100ms"},
	"any and one certificate":     {text: gate + "    tls: {ca_file: a.pem, verify: false}", want: "t.yaml:4:20: streams[0].tls.ca_file: verify: false takes any certificate"},
	"password that expands":       {text: gate + "    username: a\n    password: a${geh-eim}b", want: "is no name of a variable"},
	"password not closed":         {text: gate + "    username: a\n    password: a${geheim", want: "a ${ is not closed"},
	"password as a tag":           {text: gate + "    username: a\n    password: !geheim\n    model: nano\n", want: "t.yaml:5:15: tags"},
	"password as an alias":        {text: gate + "    username: a\n    password: *geheim", want: "put text that begins with * in quotes"},
	"password in an open quote":   {text: gate + "    username: a\n    password: \"geheim", want: "t.yaml:5:15: no YAML"},
	"password beyond its quote":   {text: gate + "    username: a\n    password: \"ge\"heim", want: "t.yaml:5:1"},
	"password with a colon":       {text: gate + "    username: a\n    password: ge: heim", want: "t.yaml:5:"},
	"password that begins with @": {text: gate + "    username: a\n    password: @geheim", want: "t.yaml:5:"},
	"password in a list":          {text: gate + "    username: a\n    password: [geheim]", want: "takes one value"},
	"transport":                   {text: gate + "    transport: tpc", want: `t.yaml:4:16: streams[0].transport: unknown value "tpc": did you mean "tcp"?`},
	"device":                      {text: gate + "    device: gpu", want: "auto, cpu, cuda"},
	"one conditioning frame":      {text: gate + "    memory: {max_conditioning: 1}", want: "at least 2"},
	"empty prompt":                {text: gate + "    prompts: [{object: 1}]", want: "t.yaml:4:15: streams[0].prompts[0]: says nothing"},
	"labels":                      {text: gate + "    prompts: [{points: [[1, 2]]}]", want: "0 labels for 1 points"},
	"label 2":                     {text: gate + "    prompts: [{points: [[1, 2]], labels: [2]}]", want: "1 on the object"},
	"point of three":              {text: gate + "    prompts: [{points: [[1, 2, 3]], labels: [1]}]", want: "takes 2 values, here are 3"},
	"endless point":               {text: gate + "    prompts: [{points: [[.inf, 2]], labels: [1]}]", want: "is no number"},
	"box upside down":             {text: gate + "    prompts: [{box: [1, 9, 3, 4]}]", want: "left of and above"},
	"short box":                   {text: gate + "    prompts: [{box: [1, 9]}]", want: "2 values"},
	"object id":                   {text: gate + "    prompts: [{object: 2147483648, box: [1,2,3,4]}]", want: "0 to 2147483647"},
	"auto and prompts":            {text: gate + "    auto: true\n    prompts: [{box: [1,2,3,4]}]", want: "exclude each other"},
	"auto among prompts":          {text: gate + "    prompts: [{auto: true}, {box: [1,2,3,4]}]", want: "stands alone"},
	"nats scheme":                 {text: gate + "nats: {url: 'http://h:4222'}", want: "t.yaml:4:13: nats.url: http://h:4222: write nats://"},
	"nats prefix":                 {text: gate + "nats: {prefix: 'a.*'}", want: "nats.prefix"},
	"embedded twice":              {text: gate + "nats: {embedded: true, url: 'nats://127.0.0.1:4222,nats://127.0.0.1:4223'}", want: "one address"},
	"embedded nowhere":            {text: gate + "nats: {embedded: true, url: 'nats://127.0.0.1:70000'}", want: "70000 is no port"},
	"embedded elsewhere":          {text: gate + "nats: {embedded: true, url: 'nats://0.0.0.0:4222'}", want: "loopback only"},
	"off loopback":                {text: gate + "http: {listen: '0.0.0.0:8080'}", want: "t.yaml:4:16: http.listen: 0.0.0.0:8080 is not loopback: set http.token_file"},
	"every address":               {text: gate + "http: {listen: ':8080'}", want: "is not loopback"},
	"listen without a port":       {text: gate + "http: {listen: localhost}", want: "write host:port"},
	"origin star":                 {text: gate + "http: {allow_origins: ['*']}", want: "* is not an origin"},
	"variable not set":            {text: gate + "    username: ${NO_SUCH}", want: "t.yaml:4:15: streams[0].username: the environment variable NO_SUCH is not set"},
	"variable not closed":         {text: gate + "    username: a${NO_SUCH", want: "is not closed"},
	"variable without a name":     {text: gate + "    username: a${}", want: "is no name of a variable"},
	"no secret file":              {text: gate + "    username: a\n    password: ${file:/no/such}", want: "t.yaml:5:15: streams[0].password: secret: open /no/such"},
	"unknown variable":            {text: gate, env: "TRACKER_NATS_ULR=x", want: `environment variable TRACKER_NATS_ULR sets no key: did you mean "TRACKER_NATS_URL"?`},
	"variable for stream 7":       {text: gate, env: "TRACKER_STREAMS_7_URL=x", want: "sets no key"},
	"variable of the wrong type":  {text: gate, env: "TRACKER_NATS_BATCH_COUNT=x", want: `environment variable TRACKER_NATS_BATCH_COUNT: "x" is no whole number`},
	"variable that is refused":    {text: gate, env: "TRACKER_LOG_LEVEL=loud", want: "environment variable TRACKER_LOG_LEVEL: log.level: unknown value"},
	"variable with a bad list":    {text: gate, env: "TRACKER_STREAMS_0_PROMPTS=[{bxo: 1}]", want: `unknown key "bxo" in streams[0].prompts[0]`},
	"two identities":              {text: gate + "nats: {token_file: a, nkey_file: b}", want: "t.yaml:4:34: nats.nkey_file: nkey_file and token_file exclude each other"},
	"user twice":                  {text: gate + "nats: {url: 'nats://u@h:4222', username: u}", want: "url and username exclude each other"},
	"password of nobody":          {text: gate + "nats: {password: p}", want: "nats.username: there is a password and no username"},
	"password twice":              {text: gate + "nats: {username: u, password: p, password_file: f}", want: "nats.password_file: password and password_file exclude each other"},
	"half a certificate":          {text: gate + "nats: {tls: {cert_file: c}}", want: "cert_file and key_file go together"},
	"embedded with a user":        {text: gate + "nats: {embedded: true, username: u}", want: "takes no credentials and no TLS"},
}

func TestWrongConfigurationIsOneLineWithItsPlace(t *testing.T) {
	for name, c := range wrong {
		t.Run(name, func(t *testing.T) {
			_, err := parse("t.yaml", []byte(c.text), []string{c.env})
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "geh") || !utf8.ValidString(err.Error()) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestMarkOfAnEditorIsNoKey(t *testing.T) {
	if _, err := parse("t.yaml", []byte("\xef\xbb\xbf"+gate), nil); err != nil {
		t.Error(err)
	}
}

func TestFileWithoutEndIsRefused(t *testing.T) {
	if _, err := Load("/dev/zero", nil); err == nil || !strings.Contains(err.Error(), "/dev/zero: it has more than 262144 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestMissingFileNamesItself(t *testing.T) {
	if _, err := Load("/no/such.yaml", nil); err == nil || !strings.Contains(err.Error(), "/no/such.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestNothingPrintsSecrets(t *testing.T) {
	text := `
streams:
  - {name: a, url: "rtsp://camuser:gehe%2Fim@h/x?token=geheim&q=1", model: nano}
  - {name: b, url: "rtsp://h/x", username: u, password: geheim}
  - {name: c, url: "rtsp://camuser:geh,eim@h/x"}
  - {name: d, url: "rtsp://h/user=admin&password=geheim&channel=1"}
  - {name: e, url: "rtsp://h/user=admin_password=geheim_channel=1?x;pwd=geheim"}
nats: {url: "nats://geheim@h:4222,nats://u:geheim@i:4222"}
`
	c, err := parse("t.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.NATS.Password = "geheim" // a user here and in the URL is refused, so not in the text
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "password", c.Streams[1].Password, "url", c.Streams[0].URL, "all", c)
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]string{
		"yaml": c.Redacted(), "json": string(asJSON), "slog": logged.String(), "%v": fmt.Sprintf("%v", c), "%+v": fmt.Sprintf("%+v", *c), "%#v": fmt.Sprintf("%#v", *c),
	} {
		if strings.Contains(s, "geh") || strings.Contains(s, "camuser") {
			t.Errorf("%s prints a secret: %s", name, s)
		}
	}
	c.NATS.Password = ""
	again, err := parse("printed.yaml", []byte(c.Redacted()), nil)
	if err != nil {
		t.Fatalf("the printed configuration does not load: %v\n%s", err, c.Redacted())
	}
	if again.Redacted() != c.Redacted() || !strings.Contains(c.Redacted(), "q=1") {
		t.Errorf("printing twice differs:\n%s\n%s", c.Redacted(), again.Redacted())
	}
}

func TestURLsWithoutSecretsPrintWhole(t *testing.T) {
	for in, want := range map[string]string{
		"clip.mp4": "clip.mp4", "rtsp://h/x": "rtsp://h/x", "rtsp://u:p@h/x": "rtsp://REDACTED@h/x", "rtsp://u:a/b@c@h/x": "rtsp://REDACTED@h/x",
		"rtsp://u:a?b@h/x": "rtsp://REDACTED@h/x", "rtsp://u:a,b@h/x": "rtsp://REDACTED@h/x", "rtsp://u:p@ss:w/#%?!@h/x?q=1": "rtsp://REDACTED@h/x?q=1", "rtsp://h/a,b": "rtsp://h/a,b", "http://h/?key=1&w=2": "http://h/?key=REDACTED&w=2", "nats://tok@a,nats://b": "nats://REDACTED@a,nats://b",
		"u:p@h:4222": "REDACTED@h:4222", "//u:p@h": "REDACTED@h", "nats:/u:p@h": "REDACTED@h", "nats//u:p@h": "REDACTED@h", "clip@2.mp4": "clip@2.mp4",
	} {
		if got := URL(in).String(); got != want {
			t.Errorf("%s prints as %s, want %s", in, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(demoYAML), "TRACKER_NATS_URL=nats://h:1\nTRACKER_STREAMS_1_NAME=second\nTRACKER_STREAMS_1_URL=testscene:")
	f.Add(string(defaultYAML), "TRACKER_STREAMS_0_PROMPTS=[{box: [1, 2, 3, 5]}]\nTRACKER_STREAMS_0_PROMPTS_1_MASK_SIZE=[2, 3]")
	f.Add(gate+"    username: $${plain}\n    lost_after: 1m30s\n", "TRACKER_HTTP_ALLOW_ORIGINS_0=https://a.example")
	for _, c := range wrong {
		if len(c.text) < 1000 {
			f.Add(c.text, c.env)
		}
	}
	f.Fuzz(func(t *testing.T, text, env string) {
		if strings.Contains(text, "${file:") {
			t.Skip("would read files")
		}
		c, err := parse("f.yaml", []byte(text), strings.Split(env, "\n"))
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !utf8.ValidString(err.Error()) {
				t.Errorf("an error of two lines, or of bytes: %q", err)
			}
			return
		}
		// What is printed loads, and says the same.
		again, err := parse("printed.yaml", []byte(c.Redacted()), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, c.Redacted())
		}
		if again.Redacted() != c.Redacted() {
			t.Errorf("%s\nprints as\n%s", c.Redacted(), again.Redacted())
		}
	})
}

func TestAPasswordGoesWithAUserInTheURL(t *testing.T) {
	text := "streams:\n  - {name: gate, url: 'rtsp://admin@camera.example/main', password: b}\n"
	if _, err := parse("t.yaml", []byte(text), nil); err != nil {
		t.Error(err)
	}
}
