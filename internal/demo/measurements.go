package demo

import (
	"fmt"
	"iter"
	"time"
)

// reading is what a sensor on a bridge sends. The device and the time stand in the id too, so that a bridge's
// partition is in the order of devices and, inside a device, of time.
type reading struct {
	ID             string  `json:"_id"`
	Infrastructure string  `json:"infrastructureID"`
	Device         string  `json:"deviceID"`
	Timestamp      string  `json:"timestamp"`
	Strain         float64 `json:"strain"`
	Temperature    float64 `json:"temperature"`
}

// devicesPerBridge and bridges fix the layout; size adds readings to the same devices.
const (
	bridges          = 4
	devicesPerBridge = 5
)

// readings gives 10 readings for each unit of size, taken in turn by the devices of four bridges in December 2018.
// The first is the one that the documentation of such databases likes to show.
func readings(size int) iter.Seq2[[]byte, error] {
	start := time.Date(2018, 12, 11, 11, 13, 24, 123456000, time.UTC)
	return each(10*size, func(n int) []any {
		r := random("reading", n)
		at := n - 1
		bridge, device := at%bridges, (at/bridges)%devicesPerBridge
		infrastructure := fmt.Sprintf("bridge-%d", 9876+bridge)
		name := fmt.Sprintf("device-%d", 123456+bridge*100+device)
		// One round of all devices takes a quarter of an hour.
		round := at / (bridges * devicesPerBridge)
		stamp := start.Add(time.Duration(round) * 15 * time.Minute).Format("20060102T15:04:05.000000Z")
		return []any{reading{
			ID: infrastructure + ":" + name + "-" + stamp, Infrastructure: infrastructure, Device: name,
			Timestamp: stamp, Strain: float64(r.IntN(5000)) / 1000, Temperature: float64(r.IntN(350)-100) / 10,
		}}
	})
}
