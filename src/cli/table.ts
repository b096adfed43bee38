/**
 * Tables that fit the terminal: flexible columns are cut a little, then optional ones go, then flexible ones are cut
 * short.
 */
import { segmentsOf, textColumns } from '../chart/text-width.ts'
import type { Style, Terminal } from './terminal.ts'
import { oneLine } from './words.ts'

export interface Column<Row> {
  readonly title: string
  readonly text: (row: Row) => string
  readonly style?: (row: Row) => Style
  readonly right?: true
  /**
   * In a narrow terminal, columns with the highest numbers are omitted first. Without a number, the column always
   * stays.
   */
  readonly optional?: number
  /** May be cut: to 16 characters, and to 8 where no optional column is left. */
  readonly flexible?: true
}

const gap = '  '
const flexibleMin = { preferred: 16, least: 8 }

function cut(text: string, width: number): string {
  if (textColumns(text) <= width) return text
  let kept = ''
  let used = 1
  for (const segment of segmentsOf(text)) {
    used += textColumns(segment)
    if (used > width) break
    kept += segment
  }
  return `${kept}…`
}

/** The lines of a table: its titles, then a line for each row. */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  terminal: Pick<Terminal, 'columns' | 'style'>,
): string {
  const texts = new Map(columns.map((column) => [column, rows.map((row) => oneLine(column.text(row)))]))
  const natural = (column: Column<Row>): number =>
    Math.max(textColumns(column.title), ...(texts.get(column) ?? []).map(textColumns))
  const widths = fitted(
    columns.map((column) => ({ column, width: natural(column) })),
    terminal.columns,
  )
  const line = (cell: (column: Column<Row>) => string, styled: (column: Column<Row>, text: string) => string): string =>
    widths
      .map(({ column, width }, index) => {
        const text = cut(cell(column), width)
        const space = ' '.repeat(width - textColumns(text))
        const isLast = index === widths.length - 1
        return column.right ? space + styled(column, text) : styled(column, text) + (isLast ? '' : space)
      })
      .join(gap)
      .trimEnd()
  const titles = line(
    ({ title }) => title,
    (_, text) => terminal.style('dim', text),
  )
  const body = rows.map((row, index) =>
    line(
      (column) => texts.get(column)?.[index] ?? '',
      ({ style }, text) => (style === undefined ? text : terminal.style(style(row), text)),
    ),
  )
  return [titles, ...body].join('\n')
}

interface Width<Row> {
  readonly column: Column<Row>
  readonly width: number
}

function fitted<Row>(widths: readonly Width<Row>[], columns: number | null): readonly Width<Row>[] {
  const total = (list: readonly Width<Row>[]): number =>
    list.reduce((sum, { width }) => sum + width, (list.length - 1) * gap.length)
  if (columns === null || total(widths) <= columns) return widths
  // Flexible columns are cut one after the other, the last one first.
  const cutTo = (least: number): readonly Width<Row>[] => {
    let excess = total(widths) - columns
    return widths
      .toReversed()
      .map(({ column, width }) => {
        const less = column.flexible ? Math.min(excess, Math.max(0, width - least)) : 0
        excess -= less
        return { column, width: width - less }
      })
      .toReversed()
  }
  const shorter = cutTo(flexibleMin.preferred)
  if (total(shorter) <= columns) return shorter
  const last = widths.reduce<Column<Row> | null>(
    (found, { column }) => ((column.optional ?? 0) > (found?.optional ?? 0) ? column : found),
    null,
  )
  if (last === null) return cutTo(flexibleMin.least)
  return fitted(
    widths.filter(({ column }) => column !== last),
    columns,
  )
}
