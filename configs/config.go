package configs

import "time"

// Config is the whole configuration. Load fills every default and validates; nothing changes it afterwards.
type Config struct {
	Streams []Stream `yaml:"streams"`
	NATS    NATS     `yaml:"nats"`
	HTTP    HTTP     `yaml:"http"`
	WebRTC  WebRTC   `yaml:"webrtc"`
	Log     Log      `yaml:"log"`
}

// Stream is one source with what is tracked on it.
type Stream struct {
	Name         string    `yaml:"name"`
	URL          URL       `yaml:"url"` // rtsp, http(s), a file, a folder, /dev/video0, testscene:
	Username     string    `yaml:"username"`
	Password     Secret    `yaml:"password"`
	PasswordFile string    `yaml:"password_file"` // excludes Password
	Transport    string    `yaml:"transport"`     // tcp, udp, auto, http
	TLS          CameraTLS `yaml:"tls"`
	Timeout      Duration  `yaml:"timeout"` // for connecting, and for the next picture of what is no file
	Loop         bool      `yaml:"loop"`    // a file starts over at its end
	Policy       string    `yaml:"policy"`  // newest, every
	Model        string    `yaml:"model"`
	ModelConfig  string    `yaml:"model_config"` // upstream's YAML; empty: the model is recognised by its weights
	Device       string    `yaml:"device"`       // auto, cpu, cuda, cuda:N
	History      int       `yaml:"history"`
	HistoryBytes Size      `yaml:"history_bytes"` // 0: as much as there is room for
	NetworkBytes Size      `yaml:"network_bytes"` // 0: a share of the machine's memory
	HostBytes    Size      `yaml:"host_bytes"`    // 0: a share of the machine's memory
	Offload      Offload   `yaml:"offload"`
	Memory       Memory    `yaml:"memory"`
	MaxObjects   int       `yaml:"max_objects"` // tracked at once
	LostAfter    Duration  `yaml:"lost_after"`
	Auto         bool      `yaml:"auto"`    // objects found on the first frame; excludes Prompts
	Prompts      []Prompt  `yaml:"prompts"` // on the first frame
}

// CameraTLS says whose word is taken for a camera at rtsps:// or another source over TLS.
type CameraTLS struct {
	CAFile string `yaml:"ca_file"` // empty: the system's authorities
	Verify bool   `yaml:"verify"`
}

// Offload says what is kept in host memory although the network runs on a GPU.
type Offload struct {
	Video bool `yaml:"video"`
	State bool `yaml:"state"`
}

// Memory bounds what a frame attends to.
type Memory struct {
	MaxConditioning int  `yaml:"max_conditioning"` // −1: all
	MotionAware     bool `yaml:"motion_aware"`
}

// Prompt points at one object on the first frame: points, a box, both, or a mask. Coordinates are pixels of the picture.
type Prompt struct {
	Object int          `yaml:"object"`
	Points [][2]float64 `yaml:"points"` // x, y
	Labels []int        `yaml:"labels"` // 1 on the object, 0 beside it; one a point
	Box    []float64    `yaml:"box"`    // x0, y0, x1, y1; empty for none
	Mask   *Mask        `yaml:"mask"`
	Auto   bool         `yaml:"auto"` // an entry with nothing but auto: true sets the stream's Auto; Load takes it out of the list
}

// Mask is COCO's compressed run-length form.
type Mask struct {
	Size   [2]int `yaml:"size"` // height, width
	Counts string `yaml:"counts"`
}

// NATS is where masks are published.
type NATS struct {
	URL             URL    `yaml:"url"` // several with commas
	Embedded        bool   `yaml:"embedded"`
	Prefix          string `yaml:"prefix"`
	Frames          bool   `yaml:"frames"`
	Batch           Batch  `yaml:"batch"`
	JetStream       bool   `yaml:"jetstream"`
	Store           Store  `yaml:"store"`
	Spool           Spool  `yaml:"spool"`
	Username        string `yaml:"username"` // excludes the three files below and a user in the URL, as each of them does the others
	Password        Secret `yaml:"password"`
	PasswordFile    string `yaml:"password_file"` // excludes Password
	TokenFile       string `yaml:"token_file"`
	NkeyFile        string `yaml:"nkey_file"`
	CredentialsFile string `yaml:"credentials_file"`
	TLS             TLS    `yaml:"tls"`
}

// Batch says when a batch of one object's masks ends: whichever comes first, and always with its epoch.
type Batch struct {
	Count int      `yaml:"count"`
	Bytes Size     `yaml:"bytes"`
	Age   Duration `yaml:"age"` // 0: no limit
}

// Store is the JetStream stream that keeps what is published.
type Store struct {
	Name     string   `yaml:"name"`   // empty: the prefix, with _ for its dots
	Manage   bool     `yaml:"manage"` // create it where no stream takes the subjects
	MaxAge   Duration `yaml:"max_age"`
	MaxBytes Size     `yaml:"max_bytes"`
}

// Spool is where messages wait that JetStream has not taken yet.
type Spool struct {
	Folder string `yaml:"folder"` // empty: in the user's state folder
	Bytes  Size   `yaml:"bytes"`
}

// TLS names PEM files.
type TLS struct {
	CAFile   string `yaml:"ca_file"`   // the authority of the server's certificate; empty: the system's
	CertFile string `yaml:"cert_file"` // what we show; with KeyFile, or neither
	KeyFile  string `yaml:"key_file"`
}

// HTTP is the control and preview server.
type HTTP struct {
	Listen       string   `yaml:"listen"`
	TokenFile    string   `yaml:"token_file"` // required where Listen is not loopback
	AllowOrigins []string `yaml:"allow_origins"`
}

// WebRTC is the low-latency preview.
type WebRTC struct {
	UDP             string   `yaml:"udp"`
	AdditionalHosts []string `yaml:"additional_hosts"`
	Mode            string   `yaml:"mode"` // locked, low-latency
}

// Log is how the service speaks.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // text, json
}

// Default is a configuration without streams.
func Default() *Config {
	return &Config{
		NATS: NATS{
			URL:    "nats://127.0.0.1:4222",
			Prefix: "tracker",
			Batch:  Batch{Count: 1, Bytes: 256 << 10},
			Store:  Store{Manage: true, MaxAge: Duration(24 * time.Hour), MaxBytes: 1 << 30},
			Spool:  Spool{Bytes: 256 << 20},
		},
		HTTP:   HTTP{Listen: "127.0.0.1:8080"},
		WebRTC: WebRTC{UDP: "127.0.0.1:8189", Mode: "locked"},
		Log:    Log{Level: "info", Format: "text"},
	}
}

// DefaultStream is a stream that lacks only its name and its URL.
func DefaultStream() Stream {
	return Stream{
		Transport: "tcp",
		TLS:       CameraTLS{Verify: true},
		Timeout:   Duration(10 * time.Second),
		Policy:    "newest",
		Model:     "nano",
		Device:    "auto",
		History:   300, HistoryBytes: 1 << 30, MaxObjects: 64,
		Memory:    Memory{MaxConditioning: 4},
		LostAfter: Duration(10 * time.Second),
	}
}
