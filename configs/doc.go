// Package configs is the service's configuration: one typed tree whose every key has a default and a comment, read strictly.
//
// A file says only what differs from the defaults. Unknown keys are errors that name the place and the nearest known key; a
// value may hold ${VAR} or ${file:/path}; and every key can be set from the environment, which goes before the file:
//
//	config, err := configs.Load("tracker.yaml", os.Environ()) // TRACKER_NATS_URL, TRACKER_STREAMS_0_URL, …
//	fmt.Print(config.Redacted())                              // YAML without secrets
//
// The embedded default.yaml documents the keys, demo.yaml is what the service runs without a file.
package configs
