package dynamoapi

import (
	"github.com/sectional/sectional/internal/table"
)

// What tables may have since newer clients: bounds of what is paid by request, throughput
// that is there from the start, encryption. Nothing is throttled and nothing has to warm up,
// so they are kept and shown.

type onDemand struct {
	MaxReadRequestUnits  *int64 `json:",omitempty"`
	MaxWriteRequestUnits *int64 `json:",omitempty"`
}

type warm struct {
	ReadUnitsPerSecond  *int64
	WriteUnitsPerSecond *int64
}

type encryption struct {
	Enabled        bool
	SSEType        string
	KMSMasterKeyID string `json:"KMSMasterKeyId"`
}

// checkNewer checks the form of these members, whose paths begin with at.
func checkNewer(c *constraints, at string, o *onDemand, w *warm) {
	if o != nil {
		c.between(at+"onDemandThroughput.maxReadRequestUnits", o.MaxReadRequestUnits, -1, 1<<62)
		c.between(at+"onDemandThroughput.maxWriteRequestUnits", o.MaxWriteRequestUnits, -1, 1<<62)
	}
	if w != nil {
		c.between(at+"warmThroughput.readUnitsPerSecond", w.ReadUnitsPerSecond, 1, 1<<62)
		c.between(at+"warmThroughput.writeUnitsPerSecond", w.WriteUnitsPerSecond, 1, 1<<62)
	}
}

func checkEncryption(c *constraints, e *encryption) {
	if e != nil {
		c.oneOf("sSESpecification.sSEType", e.SSEType, encryptionTypes)
	}
}

// limits returns the bounds that a table or an index is to have which had others, nil for
// none. -1 takes one away.
func (o *onDemand) limits(was *table.Units, b *table.Billing) (*table.Units, error) {
	switch {
	case b != nil && o != nil:
		return nil, badParameter("OnDemandThroughput can be specified only when BillingMode is PAY_PER_REQUEST")
	case b != nil:
		return nil, nil
	case o == nil:
		return was, nil
	}
	now := changed(was, o.MaxReadRequestUnits, o.MaxWriteRequestUnits)
	if now.Read == 0 || now.Write == 0 {
		return nil, badParameter("MaxReadRequestUnits and MaxWriteRequestUnits are at least 1, or -1 for no limit")
	}
	if *now == (table.Units{Read: -1, Write: -1}) {
		return nil, nil
	}
	return now, nil
}

// units returns the throughput that is to be there from the start.
func (w *warm) units(was *table.Units) *table.Units {
	if w == nil {
		return was
	}
	return changed(was, w.ReadUnitsPerSecond, w.WriteUnitsPerSecond)
}

// changed returns units of which some were changed; -1 stands for those never set.
func changed(was *table.Units, read, write *int64) *table.Units {
	now := table.Units{Read: -1, Write: -1}
	if was != nil {
		now = *was
	}
	if read != nil {
		now.Read = *read
	}
	if write != nil {
		now.Write = *write
	}
	return &now
}

// asked reports whether keys of KMS were asked for.
func (e *encryption) asked() bool { return e != nil && e.Enabled }

type onDemandShown struct{ MaxReadRequestUnits, MaxWriteRequestUnits int64 }

type warmShown struct {
	ReadUnitsPerSecond  int64 `json:",omitempty"`
	WriteUnitsPerSecond int64 `json:",omitempty"`
	Status              string
}

type encryptionShown struct{ Status string }

func showOnDemand(u *table.Units) *onDemandShown {
	if u == nil {
		return nil
	}
	return &onDemandShown{u.Read, u.Write}
}

func showWarm(u *table.Units) *warmShown {
	if u == nil {
		return nil
	}
	return &warmShown{max(u.Read, 0), max(u.Write, 0), "ACTIVE"}
}

// showEncryption says of a table for which keys of KMS were asked that there are none.
func showEncryption(asked bool) *encryptionShown {
	if !asked {
		return nil
	}
	return &encryptionShown{"DISABLED"}
}
