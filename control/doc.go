// Package control is how people and programs steer streams: one [Service] with a table of verbs, behind doors. The HTTP door
// ([Server]) is here, with the preview page, health and metrics, and the NATS door ([NATS]), a micro service.
//
// A door brings a verb, a stream's name and a JSON body; the service validates all of it before the stream sees anything, and
// every error has a [Code] that each door translates by the same table:
//
//	service := control.NewService()
//	err := service.Add("gate", stream)               // anything with the methods of Stream
//	server, err := control.NewServer(service, options) // listens
//	err = server.Run(ctx)                            // until ctx ends
//	err = control.NewNATS(service, control.NATSOptions{Connection: connection, Prefix: "tracker"}).Run(ctx)
//	reply, err := service.Call(ctx, control.Prompt, "gate", []byte(`{"points":[[120,90]],"labels":[1]}`))
package control
