/** The tags of jobs, row by row: jobs are found by them. A job has its own as JSON. */
import type { Row } from './row.ts'
import type { Statements } from './statements.ts'

type Tagged = Pick<Row, 'seq' | 'tags'>

export function addTags(sql: Statements, { seq, tags }: Tagged): void {
  if (tags !== null) sql.run('addTags', seq, tags)
}

export function forgetTags(sql: Statements, { seq, tags }: Tagged): void {
  if (tags !== null) sql.run('forgetTags', seq, tags)
}

export function replaceTags(sql: Statements, row: Tagged, tags: string | null): void {
  forgetTags(sql, row)
  row.tags = tags
  addTags(sql, row)
}
