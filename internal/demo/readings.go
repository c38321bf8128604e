package demo

import (
	"fmt"
	"iter"
	"time"
)

// reading is what a sensor on a bridge sends. The device and the time are in the id too, so that a bridge's
// partition is in the order of devices and, inside a device, of time.
type reading struct {
	ID             string   `json:"_id"`
	Device         string   `json:"deviceID"`
	Infrastructure string   `json:"infrastructureID"`
	Timestamp      string   `json:"ts"`
	Reading        measured `json:"reading"`
}

type measured struct {
	Temperature struct {
		Value int    `json:"value"`
		Unit  string `json:"unit"`
	} `json:"temperature"`
}

// devicesPerBridge and bridges fix the layout; size adds readings to the same devices.
const devicesPerBridge = 5

func bridges() []string { return []string{"bridge-9876", "bridge-1234", "bridge-2345", "bridge-3456"} }

func readingsDatabase() database {
	index := func(name, fields string) request {
		return request{"POST", "/_index", `{"index":{"fields":` + fields + `},"name":"` + name + `","type":"json","partitioned":true}`}
	}
	return database{
		name: "readings", partitioned: true, samples: sampleReadings, generated: readings,
		design: []request{
			{"PUT", "/_design/infrastructure-mapping", `{"options":{"partitioned":false},"views":{"by-device":{"map":"function(doc) { emit(doc.deviceID, doc.infrastructureID) }"}}}`},
			index("timestamped-readings", `["ts"]`),
			index("deviceID-readings", `["deviceID","ts"]`),
		},
		views: []string{"/_design/infrastructure-mapping/_view/by-device"},
	}
}

// readingsBegin is the time of the sample that the articles print.
func readingsBegin() time.Time { return time.Date(2018, 12, 11, 11, 13, 24, 123456000, time.UTC) }

func newReading(bridge, device int, at time.Time, value int) reading {
	infrastructure, name := bridges()[bridge], fmt.Sprintf("device-%d", 123456+bridge*100+device)
	stamp := at.Format("20060102T15:04:05.000000Z")
	r := reading{ID: infrastructure + ":" + name + "-" + stamp, Device: name, Infrastructure: infrastructure, Timestamp: stamp}
	r.Reading.Temperature.Value, r.Reading.Temperature.Unit = value, "c"
	return r
}

// sampleReadings has the printed one, and some of the day that the articles call today, 13 December 2018, which
// small demos do not reach.
func sampleReadings() []any {
	rows := []any{newReading(0, 0, readingsBegin(), 12)}
	today := time.Date(2018, 12, 13, 9, 0, 0, 500000000, time.UTC)
	for bridge := range 2 {
		for device := range 2 {
			rows = append(rows, newReading(bridge, device, today.Add(time.Duration(device)*10*time.Second), 8+bridge+device))
		}
	}
	return rows
}

// readings returns 10 readings for each unit of size, taken in turn by the devices of four bridges in December 2018.
func readings(size int) iter.Seq2[[]byte, error] {
	return each(10*size, func(n int) []any {
		// One round of all devices takes a quarter of an hour. The first reading of all is the sample.
		bridge, device, round := n%len(bridges()), (n/len(bridges()))%devicesPerBridge, n/(len(bridges())*devicesPerBridge)
		return []any{newReading(bridge, device, readingsBegin().Add(time.Duration(round)*15*time.Minute), random("reading", n).IntN(35)-10)}
	})
}
