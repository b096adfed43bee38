/** Charts as SVG: of the job lifecycle, of the runtime, and of the machines of jobs. */
import { machines } from '../../machines/index.ts'
import type { JobRecord, StateCounts } from '../index.ts'
import { chartStyles, type ChartSource, type PathStep, type Tone } from '../chart/index.ts'
import type { MarkOptions } from '../chart/marks.ts'
import type { DrawingOptions } from '../chart/to-svg.ts'
import { chartOf } from '../core/definition.ts'
import { isEnded, jobStates } from '../core/lifecycle.ts'
import type { HeatPeriod } from '../core/figures.ts'
import { checkpointSteps, statesAt } from './checkpoint-steps.ts'
import { Drawing, type Chart } from './drawing.ts'
import { heatMarks, heatView } from './heat.ts'
import type { DashboardSettings } from './options.ts'
import { ownValue } from '../core/own-value.ts'

/** The style sheet of every picture. */
export const pictureStyles = (): string => chartStyles('auto')

export interface ChartEntry {
  /** `job`, `runtime` or `machine`. */
  readonly kind: 'job' | 'runtime' | 'machine'
  /** The type of the machine's jobs. */
  readonly type: string | null
  readonly version: string | null
  readonly title: string
  readonly description: string | null
  /** Number of jobs in the chart. */
  readonly jobs: number | null
}

export class Pictures {
  private readonly settings: DashboardSettings
  private readonly drawing = new Drawing()
  /** By machine, and by what its layout depends on: few of each. */
  private readonly charts = new WeakMap<ChartSource, Map<string, Chart>>()

  constructor(settings: DashboardSettings) {
    this.settings = settings
  }

  async list(): Promise<ChartEntry[]> {
    const { client } = this.settings
    const { types } = await client.counts()
    const own = { type: null, version: null, jobs: null }
    const { job, runtime } = machines
    const charts = [...client.jobs.values()].flatMap(({ type, machine }) =>
      (machine?.charts ?? []).map(({ version, machine: { root } }): ChartEntry => {
        const counts = ownValue(types, type)
        const live =
          counts === undefined
            ? 0
            : jobStates.filter((state) => !isEnded(state)).reduce((sum, state) => sum + counts[state], 0)
        return { kind: 'machine', type, version, title: type, description: root.description ?? null, jobs: live }
      }),
    )
    return [
      ...charts,
      { ...own, kind: 'job', title: 'job', description: job.root.description ?? null },
      { ...own, kind: 'runtime', title: 'runtime', description: runtime.root.description ?? null },
    ]
  }

  /** The job chart with a number in each state, for one type or all. */
  async jobChart(type: string | null): Promise<string> {
    const { types, ...all } = await this.settings.client.counts()
    const counts: Partial<StateCounts> = type === null ? all : (ownValue(types, type) ?? {})
    const known = Object.fromEntries(jobStates.map((state) => [state, counts[state] ?? 0]))
    return this.draw(machines.job, jobLayout, { counts: known })
  }

  /** The job chart with the path of one job. */
  jobPath({ history, state }: JobRecord): Promise<string> {
    const path = history.flatMap(({ from, event, to }): PathStep[] => (from === null ? [] : [{ from, event, to }]))
    return this.draw(machines.job, jobLayout, { path, active: state })
  }

  runtimeChart(): Promise<string> {
    const active = this.settings.runtime?.state
    return this.draw(machines.runtime, { tags: false }, active === undefined ? {} : { active })
  }

  /**
   * The machine of a type, with the number of jobs in each state that have not ended.
   * @param version null: the current one, or all of them in the heat
   * @param heat also how machines have gone through it in this time; null: not
   * @returns null if this process does not have it
   */
  async machineChart(type: string, version: string | null, heat: HeatPeriod | null): Promise<string | null> {
    const { client } = this.settings
    const machine = this.machineOf(type, version)
    if (machine === null) return null
    const { states } = await client.store.machineCounts(type)
    const asked = heat === null ? null : { period: heat, ...(version !== null && { version }) }
    const shown = asked === null ? null : await heatView(this.settings, type, asked)
    return this.draw(machine, {}, { counts: states, ...(shown !== null && { heat: heatMarks(shown) }) })
  }

  /** The machine of a job with its active states and its path. @returns null if this process does not have it */
  async machinePath(record: JobRecord): Promise<string | null> {
    const { id, type, version, checkpoint, machineStates } = record
    const machine = this.machineOf(type, version)
    if (machine === null) return null
    const runner = this.settings.client.jobs.get(type)?.machine ?? null
    const kept = runner === null ? [] : await this.settings.client.store.checkpoints(id)
    const path = runner === null ? [] : checkpointSteps(kept, runner, this.settings.graphs.of(machine))
    // A fork has no `machineStates` before its own first checkpoint.
    const fromFork = machineStates.length === 0 && checkpoint !== null && runner !== null
    return this.draw(
      machine,
      {},
      {
        active: fromFork ? (statesAt(checkpoint.state, runner) ?? []) : machineStates,
        path,
        ...(isEnded(record.state) && { tones: tonesOf(record) }),
      },
    )
  }

  private machineOf(type: string, version: string | null): ChartSource | null {
    const runner = this.settings.client.jobs.get(type)?.machine ?? null
    return runner === null ? null : chartOf(runner, version).machine
  }

  private draw(source: ChartSource, options: DrawingOptions, marks: MarkOptions): Promise<string> {
    const chart = this.chartOf(source, {
      ...options,
      counted: marks.counts !== undefined,
      timed: marks.heat !== undefined,
      style: 'none',
      transparent: true,
    })
    return this.drawing.draw(chart, marks)
  }

  private chartOf(source: ChartSource, options: DrawingOptions): Chart {
    const own = this.charts.get(source) ?? new Map<string, Chart>()
    this.charts.set(source, own)
    const key = JSON.stringify(options)
    const chart = own.get(key) ?? { graph: this.settings.graphs.of(source), options }
    own.set(key, chart)
    return chart
  }
}

const jobLayout: DrawingOptions = { tags: false, actions: false, direction: 'down' }

/** Tones of the final states of a machine, by the end of the job. */
function tonesOf({ state, machineStates }: JobRecord): Record<string, Tone> {
  return Object.fromEntries(machineStates.map((path) => [path, state as Tone]))
}
