package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/pflag"

	"maskstream/configs"
	"maskstream/tensor"
)

// homes are the two pools that the offload switches choose from: what is not offloaded lives where the network does, and what finds
// no room in one of them goes to the other. On the CPU both are host memory, and moving between them is the same copy that a GPU
// would make.
type homes struct {
	network *tensor.Pool // of what the network makes
	host    *tensor.Pool // of what is offloaded, and of what finds no room with the network

	video, state *tensor.Pool // one of the two: of frames; of memories and logits
}

// all are the pools, each once.
func (h homes) all() []*tensor.Pool { return []*tensor.Pool{h.network, h.host} }

// overflow is where memories go that find no room at home.
func (h homes) overflow() *tensor.Pool {
	if h.state == h.host {
		return h.network
	}
	return h.host
}

// frames is how many bytes of frames may be kept to look back: no more than half of their pool, so that they leave room to work in.
func (h homes) frames(wanted int64) int64 {
	half := h.video.Budget() / 2
	if wanted <= 0 {
		return half
	}
	return min(wanted, half)
}

func newHomes(offloadVideo, offloadState bool, sizes poolSizes) (homes, error) {
	sizes, err := sizes.filled()
	if err != nil {
		return homes{}, err
	}
	network := tensor.NewPool("network", tensor.Host(), int64(sizes.network))
	host := tensor.NewPool("host", tensor.Host(), int64(sizes.host))
	h := homes{network: network, host: host, video: network, state: network}
	if offloadVideo {
		h.video = host
	}
	if offloadState {
		h.state = host
	}
	return h, nil
}

// poolSizes are the budgets of the two pools in bytes. One that is 0 is a share of the memory that this process may use: half for
// the network, a quarter for the host, among so many streams.
type poolSizes struct {
	network, host configs.Size
	streams       int // 0 is 1
}

const (
	networkBytesFlag = "network-bytes"
	hostBytesFlag    = "host-bytes"
)

func (s *poolSizes) add(flags *pflag.FlagSet) {
	flags.Var((*sizeFlag)(&s.network), networkBytesFlag, "`SIZE` of what may be held with the network, as 2GiB (0: half of the memory)")
	flags.Var((*sizeFlag)(&s.host), hostBytesFlag, "`SIZE` of what may be held in host memory, where the oldest goes when there is no room with the network (0: a quarter of the memory)")
}

func (s poolSizes) filled() (poolSizes, error) {
	if s.network > 0 && s.host > 0 {
		return s, nil
	}
	memory, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil {
		return s, fmt.Errorf("this machine's memory is unknown (%w): say with --%s and --%s, or network_bytes and host_bytes, how much may be used", err, networkBytesFlag, hostBytesFlag)
	}
	each := configs.Size(min(memory, math.MaxInt64)) / configs.Size(max(1, s.streams))
	if s.network == 0 {
		s.network = each / 2
	}
	if s.host == 0 {
		s.host = each / 4
	}
	return s, nil
}

// sizeFlag is a size on the command line.
type sizeFlag configs.Size

// Set implements pflag.Value.
func (f *sizeFlag) Set(text string) error {
	size, err := configs.ParseSize(text)
	*f = sizeFlag(size)
	return err
}

// Type implements pflag.Value.
func (f *sizeFlag) Type() string { return "size" }

// String implements pflag.Value.
func (f *sizeFlag) String() string {
	if *f == 0 {
		return "" // said by the flag's usage
	}
	return fmt.Sprint(int64(*f))
}

// outOfRoom adds to the error of two full pools what can be done about it.
func outOfRoom(err error, advice string) error {
	if errors.Is(err, tensor.ErrExhausted) {
		return fmt.Errorf("%w: %s", err, advice)
	}
	return err
}
