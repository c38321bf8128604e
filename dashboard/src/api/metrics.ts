import { send } from './http'

/** Sample is the value of one series at one moment. */
interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

/** Metrics are the values of all series at a moment. */
export class Metrics {
  readonly at = Date.now() / 1000
  private readonly samples: Sample[]

  /** text is Prometheus's text format. */
  constructor(text: string) {
    this.samples = text
      .split('\n')
      .filter((line) => line && !line.startsWith('#'))
      .map((line) => {
        const [, name, labels, value] = /^([^{\s]+)(?:\{(.*)\})?\s+(\S+)/.exec(line)!
        return { name: name!, labels: Object.fromEntries([...(labels ?? '').matchAll(/([^=,]+)="((?:[^"\\]|\\.)*)"/g)].map((m) => [m[1]!, m[2]!])), value: Number(value) }
      })
  }

  private of(name: string, want: Record<string, string>): Sample[] {
    return this.samples.filter((s) => s.name === name && Object.entries(want).every(([k, v]) => s.labels[k] === v))
  }

  /** sum adds the series of a name, those with these labels. */
  sum(name: string, want: Record<string, string> = {}): number {
    return this.of(name, want).reduce((n, s) => n + s.value, 0)
  }

  /** labels are the values that a label has in the series of a name. */
  labels(name: string, label: string): string[] {
    return [...new Set(this.of(name, {}).map((s) => s.labels[label]!))].sort()
  }

  /** buckets are the bounds of a histogram with how many lay below each, of all series with these labels. */
  buckets(name: string, want: Record<string, string> = {}): [number, number][] {
    const all = new Map<number, number>()
    for (const s of this.of(name + '_bucket', want)) {
      const bound = s.labels.le === '+Inf' ? Infinity : Number(s.labels.le)
      all.set(bound, (all.get(bound) ?? 0) + s.value)
    }
    return [...all].sort((a, b) => a[0] - b[0])
  }
}

/** rate is how much a counter grew in a second between two moments. */
export const rate = (a: Metrics, b: Metrics, name: string, want: Record<string, string> = {}): number => Math.max(0, (b.sum(name, want) - a.sum(name, want)) / (b.at - a.at))

/** quantile is below what a part of what a histogram counted between two moments lay, NaN if it counted nothing. Between two
 * bounds it is taken to lie evenly, as Prometheus does. */
export function quantile(part: number, a: Metrics, b: Metrics, name: string, want: Record<string, string> = {}): number {
  const before = new Map(a.buckets(name, want))
  const grown = b.buckets(name, want).map(([bound, n]): [number, number] => [bound, n - (before.get(bound) ?? 0)])
  const all = grown.at(-1)?.[1] ?? 0
  if (all <= 0) return NaN
  let lower: [number, number] = [0, 0]
  for (const [bound, n] of grown) {
    if (n >= part * all) return bound === Infinity ? lower[0] : lower[0] + ((bound - lower[0]) * (part * all - lower[1])) / (n - lower[1])
    lower = [bound, n]
  }
  return NaN
}

/** metrics asks the server that is asked for its series. */
export const metrics = async (signal?: AbortSignal) => new Metrics(await (await send('_node/_local/_prometheus', { signal, headers: { Accept: 'text/plain' } })).text())
