// Package scenarios plays the scenario files of the search, which
// placement/candidates runs in memory, over HTTP: it builds their clouds on upstream's Placement
// and on Berth's program, sends their queries, and compares the answers with the recorded ones.
// That makes the files upstream's answers. It compares candidates, summaries and the text of
// errors; explanations are Berth's own and not looked at.
//
// The language is that of placementtest.RunScenarios. Classes and traits that are not standard ones
// get their prefix CUSTOM_ on the wire. Of a question with a limit, a maximum or an order, the
// whole answer is requested, and the recorded one has to be a part of it: which part is each
// service's own choice. A question with "flat" is sent with microversion 1.28, all others with the
// newest one.
//
// Lines "upstream lacks CANDIDATE", "upstream adds CANDIDATE" and "upstream fails" below an answer
// are where upstream differs from it, because of an error that package differential lists; a
// comment above says which.
//
// With -update, the answers of new questions are written into the files as upstream gives them; at
// other questions only the lines that begin with "upstream". -scenarios member_of plays one file.
package scenarios
