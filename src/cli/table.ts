/** Tables that fit the terminal: a column that is no longer needed goes first, then the flexible one is cut. */
import type { Style, Terminal } from './terminal.ts'
import { oneLine } from './words.ts'

export interface Column<Row> {
  readonly title: string
  readonly text: (row: Row) => string
  readonly style?: (row: Row) => Style
  readonly right?: true
  /** Narrow terminals leave out the columns with the highest numbers first. Left out: it always stays. */
  readonly optional?: number
  /** May be cut down to eight characters. */
  readonly flexible?: true
}

const gap = '  '
const flexibleMin = 8

const lengthOf = (text: string): number => Array.from(text).length

const cut = (text: string, width: number): string =>
  lengthOf(text) <= width
    ? text
    : `${Array.from(text)
        .slice(0, Math.max(0, width - 1))
        .join('')}…`

/** The lines of a table: its titles, then a line for each row. */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  terminal: Pick<Terminal, 'columns' | 'style'>,
): string {
  const texts = new Map(columns.map((column) => [column, rows.map((row) => oneLine(column.text(row)))]))
  const natural = (column: Column<Row>): number =>
    Math.max(lengthOf(column.title), ...(texts.get(column) ?? []).map(lengthOf))
  const widths = fitted(
    columns.map((column) => ({ column, width: natural(column) })),
    terminal.columns,
  )
  const line = (cell: (column: Column<Row>) => string, styled: (column: Column<Row>, text: string) => string): string =>
    widths
      .map(({ column, width }, index) => {
        const text = cut(cell(column), width)
        const space = ' '.repeat(width - lengthOf(text))
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
  const cutBy = (list: readonly Width<Row>[]): readonly Width<Row>[] => {
    const excess = total(list) - columns
    return list.map(({ column, width }) => ({
      column,
      width: column.flexible ? Math.max(Math.min(width, flexibleMin), width - excess) : width,
    }))
  }
  const shorter = cutBy(widths)
  if (total(shorter) <= columns) return shorter
  const last = widths.reduce<Column<Row> | null>(
    (found, { column }) => ((column.optional ?? 0) > (found?.optional ?? 0) ? column : found),
    null,
  )
  if (last === null) return shorter
  return fitted(
    widths.filter(({ column }) => column !== last),
    columns,
  )
}
