package demo

import (
	"fmt"
	"iter"
	"time"
)

// ofOrder is what the documents of an order begin with.
type ofOrder struct {
	ID      string `json:"_id"`
	Type    string `json:"type"`
	OrderID string `json:"orderid"`
	UserID  string `json:"userid"`
}

type order struct {
	ofOrder
	User     string   `json:"user"`
	Basket   []string `json:"basket"`
	Total    cents    `json:"total"`
	Delivery string   `json:"deliveryAddress"`
	Date     string   `json:"date"`
}

type orderLineItem struct {
	ofOrder
	ProductID string `json:"productid"`
	Name      string `json:"name"`
	Quantity  int    `json:"quantity"`
	UnitPrice cents  `json:"unitPrice"`
	Delivery  int    `json:"delivery"`
}

type orderPayment struct {
	ofOrder
	Paid      bool   `json:"paid"`
	Provider  string `json:"provider"`
	Reference string `json:"provider_ref"`
	Date      string `json:"date"`
	Total     cents  `json:"total"`
}

type orderDispatch struct {
	ofOrder
	Dispatched bool   `json:"dispatched"`
	Date       string `json:"date"`
	Courier    string `json:"courier"`
	CourierID  string `json:"courierid"`
}

type orderDelivery struct {
	ofOrder
	Delivered bool   `json:"delivered"`
	Courier   string `json:"courier"`
	CourierID string `json:"courierid"`
}

// salesMap is the articles' report: what was sold on each day.
const salesMap = `function (doc) { if (doc.type == "order") { var date = new Date(doc.date); ` +
	`var year = date.getFullYear(); var month = date.getMonth() + 1; var day = date.getDate(); emit([year, month, day], doc.total); } }`

func ordersDatabase() database {
	index := func(ddoc, fields string) request {
		return request{"POST", "/_index", `{"index":{"partial_filter_selector":{"type":"order"},"fields":` + fields + `},"ddoc":"` + ddoc + `","type":"json","partitioned":false}`}
	}
	return database{
		name: "orders", partitioned: true, samples: sampleOrder, generated: orders,
		design: []request{
			index("orders-by-customer-index", `["userid","date"]`),
			index("orders-by-date", `["date"]`),
			{"PUT", "/_design/sales-report", `{"options":{"partitioned":false},"views":{"by-date":{"map":` + quoted(salesMap) + `,"reduce":"_sum"}}}`},
		},
		views: []string{"/_design/sales-report/_view/by-date"},
	}
}

// sampleNumber is the number of the order that the articles show: none is generated under it.
const sampleNumber = 555

// placed is an order that documents are made of.
type placed struct {
	id, user, name, address   string
	at, paid, sent            string
	items                     []placedItem
	provider, reference       string
	courier, courierReference string
}

type placedItem struct {
	product, name string
	quantity      int
	price         cents
	delivery      int
}

func sampleOrder() []any {
	return (&placed{
		id: "order555", user: sampleUser, name: "Bob Smith", address: "19 Front Street, Darlington, DL5 1TY",
		at: "2019-01-28T10:44:22.000Z", paid: "2019-01-28T10:45:27.000Z", sent: "2019-01-28T16:02:00.000Z",
		items: []placedItem{
			{"1000042", "Salter - Digital Kitchen Scales", 1, 1499, 0},
			{"88752", "Kenwood - Stand Mixer", 1, 19999, 0},
		},
		provider: "PayPal", reference: "PayPal16161641", courier: "UPS", courierReference: "15125425151261289",
	}).documents()
}

func orders(size int) iter.Seq2[[]byte, error] {
	return each(size, func(n int) []any {
		if n == sampleNumber {
			return nil
		}
		return generatedOrder(n).documents()
	})
}

// generatedOrder returns the n-th order.
func generatedOrder(n int) *placed {
	r := random("order", n)
	// A user or product that a small demo lacks would leave dangling references, so both stay in the smallest range.
	user := 1 + r.IntN(10)
	if n > 50 {
		user = 1 + r.IntN(userCount(n))
	}
	at := randomTime(r, ordersBegin(), 3*365-1)
	p := &placed{
		id: fmt.Sprintf("order%d", n), user: userID(user), name: userName(user), address: address(user, 1),
		at: iso(at), paid: iso(at.Add(time.Minute)), sent: iso(at.Add(5 * time.Hour)),
		provider: pick(r, []string{"PayPal", "Visa", "Mastercard"}), courier: pick(r, []string{"UPS", "DHL", "Post"}),
	}
	p.reference, p.courierReference = fmt.Sprint(p.provider, 10000000+r.IntN(90000000)), fmt.Sprint(100000000000+r.IntN(900000000000))
	for i := range 1 + r.IntN(4) {
		r := random("item", n*10+i)
		product := 1 + r.IntN(productCount(n))
		p.items = append(p.items, placedItem{productID(product), productName(product), 1 + r.IntN(3), productPrice(product), 0})
	}
	return p
}

// documents returns the whole partition of an order; its total is the sum of its items.
func (p *placed) documents() []any {
	of := func(key, kind string) ofOrder {
		return ofOrder{ID: p.id + ":" + key, Type: kind, OrderID: p.id, UserID: p.user}
	}
	o := order{ofOrder: of("order", "order"), User: p.name, Delivery: p.address, Date: p.at}
	rows := []any{&o}
	for i, item := range p.items {
		o.Basket = append(o.Basket, item.name)
		o.Total += item.price * cents(item.quantity)
		rows = append(rows, orderLineItem{of(fmt.Sprint("item", i+1), "orderlineitem"), item.product, item.name, item.quantity, item.price, item.delivery})
	}
	return append(rows,
		orderPayment{of("payment", "orderpayment"), true, p.provider, p.reference, p.paid, o.Total},
		orderDispatch{of("dispatch", "orderdispatch"), true, p.sent, p.courier, p.courierReference},
		orderDelivery{of("delivery", "orderdelivery"), true, p.courier, p.courierReference})
}
