import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

/** Series is a line over time: its name, a value for each moment. */
export interface Series {
  name: string
  values: (number | null)[]
}

const colours = ['#0f766e', '#b45309', '#6d28d9', '#be123c', '#2563eb', '#4d7c0f']

const clock = (seconds: number) => new Date(seconds * 1000).toLocaleTimeString('en', { hour12: false })

/** Plot draws lines over time. Its last values stand below it, for who can't see it. */
export function Plot({ title, times, series, text }: { title: string; times: number[]; series: Series[]; text: (n: number) => string }) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const names = series.map((s) => s.name).join()
  useEffect(() => {
    const element = host.current!
    const axis = { stroke: getComputedStyle(element).color, grid: { stroke: '#8884', width: 1 }, ticks: { show: false } }
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: 170,
        legend: { show: false },
        cursor: { show: false },
        axes: [{ ...axis, space: 80, values: (_, all) => all.map(clock) }, { ...axis, size: 70, values: (_, all) => all.map(text) }],
        scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
        series: [{}, ...series.map((s, i) => ({ label: s.name, stroke: colours[i % colours.length], width: 2, points: { show: false } }))],
      },
      [times, ...series.map((s) => s.values)],
      element,
    )
    plot.current = made
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: 170 }))
    resized.observe(element)
    return () => {
      resized.disconnect()
      made.destroy()
    }
  }, [names])
  useEffect(() => plot.current?.setData([times, ...series.map((s) => s.values)]), [times])
  return (
    <section class="card">
      <h2>{title}</h2>
      <div ref={host} class="plot" aria-hidden="true" />
      <p class="legend">
        {series.map((s, i) => (
          <span key={s.name}>
            <i style={{ background: colours[i % colours.length] }} /> {s.name}: {s.values.at(-1) == null ? '–' : text(s.values.at(-1)!)}
          </span>
        ))}
      </p>
    </section>
  )
}
