/** Members of meta as people type them: for the page, too. */
export { metaMember, metaText } from '../core/meta-member.ts'
