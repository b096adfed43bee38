/** What the dashboard and its drawing thread send each other. */
import type { ChartGraph } from '../chart/index.ts'
import type { MarkOptions } from '../chart/marks.ts'
import type { DrawingOptions } from '../chart/to-svg.ts'
import type { ErrorCode } from '../core/errors.ts'

/** Asks for a picture. */
export interface DrawRequest {
  /** Names the chart with its options: the thread lays it out once. */
  readonly chart: number
  /** Null if the thread has been sent this chart before. */
  readonly source: { readonly graph: ChartGraph; readonly options: DrawingOptions } | null
  readonly marks: MarkOptions
}

/** `ready`: the thread has loaded the layout engine, and begins with what it is asked. */
export type DrawAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'drawn'; readonly svg: string }
  | {
      readonly kind: 'failed'
      readonly code: ErrorCode
      readonly message: string
      readonly hint: string | undefined
    }
