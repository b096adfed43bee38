/** The text format of Prometheus (version 0.0.4): https://prometheus.io/docs/instrumenting/exposition_formats/ */

export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8'

export type Labels = Readonly<Record<string, string>>

/** A metric family: its samples come one after another, below what it is. */
export interface Family {
  readonly kind: 'counter' | 'gauge' | 'histogram' | 'summary'
  readonly name: string
  readonly help: string
  readonly samples: readonly Sample[]
}

interface Sample {
  /** Follows the name of the family: `_sum`, `_bucket`. Default: nothing. */
  readonly suffix?: string
  readonly labels: Labels
  readonly value: number
}

const quoted = (text: string): string =>
  `"${text
    .replaceAll('\\', '\\\\')
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`)}"`

function sampleText(name: string, { suffix = '', labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}=${quoted(text)}`)
  return `${name}${suffix}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`
}

export const prometheusText = (families: readonly Family[]): string =>
  families
    .map(({ kind, name, help, samples }) => {
      const lines = samples.map((sample) => sampleText(name, sample))
      return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join('')}`
    })
    .join('')

/** Observations by their size, one after another in a line of buckets whose upper bounds are given. */
export class Histogram {
  private readonly bounds: readonly number[]
  private readonly counts: number[]
  private sum = 0

  /** @param bounds ascending; beyond the last one there is one more bucket */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe(value: number): void {
    const found = this.bounds.findIndex((bound) => value <= bound)
    ;(this.counts[found === -1 ? this.bounds.length : found] as number)++
    this.sum += value
  }

  /** Each bucket counts what the smaller ones count, too. */
  samples(labels: Labels): readonly Sample[] {
    let count = 0
    const buckets = this.counts.map((each, i): Sample => {
      count += each
      return { suffix: '_bucket', labels: { ...labels, le: String(this.bounds[i] ?? '+Inf') }, value: count }
    })
    return [...buckets, { suffix: '_sum', labels, value: this.sum }, { suffix: '_count', labels, value: count }]
  }
}
