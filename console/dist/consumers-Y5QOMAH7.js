import{g as r}from"./chunk-RLH3V6A7.js";function e({route:o}){return r("h1",{children:["Consumer",o.id&&`: ${o.id}`]})}export{e as default};
