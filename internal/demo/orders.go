package demo

import (
	"fmt"
	"iter"
	"time"
)

type order struct {
	ID     string `json:"_id"`
	Type   string `json:"type"`
	Order  string `json:"order_id"`
	UserID string `json:"userid"`
	Date   string `json:"date"`
	Status string `json:"status"`
	Items  int    `json:"items"`
	Total  cents  `json:"total"`
}

type orderItem struct {
	ID       string `json:"_id"`
	Type     string `json:"type"`
	Order    string `json:"order_id"`
	Product  string `json:"product_id"`
	Title    string `json:"title"`
	Quantity int    `json:"quantity"`
	Price    cents  `json:"price"`
	Total    cents  `json:"total"`
}

// orderStep is what happens to an order after it was placed: payment, dispatch, delivery.
type orderStep struct {
	ID       string `json:"_id"`
	Type     string `json:"type"`
	Order    string `json:"order_id"`
	UserID   string `json:"userid"`
	Date     string `json:"date"`
	Amount   *cents `json:"amount,omitempty"`
	Provider string `json:"provider,omitempty"`
	Courier  string `json:"courier,omitempty"`
	Address  string `json:"address,omitempty"`
}

// OrderCount tells how many orders the demo of a size holds.
func OrderCount(size int) int { return size }

// ordersBegin is the first day of the three years in which the shop's orders were placed.
func ordersBegin() time.Time { return time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC) }

func orders(size int) iter.Seq2[[]byte, error] {
	return each(OrderCount(size), orderDocuments)
}

// orderDocuments gives the whole partition of one order; its total is the sum of its items.
func orderDocuments(n int) []any {
	r, id := random("order", n), fmt.Sprintf("order%06d", n)
	// A user or product that a small demo lacks would leave dangling references, so both stay in the smallest range.
	user := userID(1 + r.IntN(10))
	if n > 50 {
		user = userID(1 + r.IntN(userCount(n)))
	}
	placed := moment(r, ordersBegin(), 3*365)
	items, total := orderItems(n, id, 1+r.IntN(4))
	step := func(kind string, after time.Duration) orderStep {
		return orderStep{ID: id + ":" + kind, Type: kind, Order: id, UserID: user, Date: iso(placed.Add(after))}
	}
	payment, dispatch, arrival := step("payment", time.Minute), step("dispatch", 26*time.Hour), step("delivery", 71*time.Hour)
	payment.Amount, payment.Provider = &total, pick(r, []string{"Visa", "Mastercard", "Transfer"})
	dispatch.Courier = pick(r, []string{"UPS", "DHL", "Post"})
	arrival.Address = user + ":delivery1"
	rows := []any{order{ID: id + ":order", Type: "order", Order: id, UserID: user, Date: iso(placed), Status: "delivered", Items: len(items), Total: total}}
	rows = append(rows, items...)
	return append(rows, payment, dispatch, arrival)
}

func orderItems(n int, id string, count int) (items []any, total cents) {
	for i := 1; i <= count; i++ {
		r := random("item", n*10+i)
		product := 1 + r.IntN(productCount(n))
		price, quantity := productPrice(product), 1+r.IntN(3)
		items = append(items, orderItem{
			ID: fmt.Sprintf("%s:item%02d", id, i), Type: "item", Order: id, Product: productCode(product),
			Title: productName(product), Quantity: quantity, Price: price, Total: price * cents(quantity),
		})
		total += price * cents(quantity)
	}
	return items, total
}
